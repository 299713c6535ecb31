#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <string>
#include <vector>

namespace reforward {

/// What we need to know of an operator, worked out once from its schema, its
/// tags and the dispatcher's tables.
struct OpInfo {
  c10::OperatorHandle handle;
  std::string name;  ///< `aten::add.Tensor`

  bool makes_values = false;     ///< false: returns and writes no tensor contents (views, sizes, scalars)
  bool random = false;           ///< may draw from a generator
  bool uninitialized = false;    ///< its outputs' contents are arbitrary (empty_like, ...)
  bool overwrites_all = false;   ///< writes every element of its first argument and reads none
  bool reseats_storage = false;  ///< may give a tensor other memory (set_, resize_)

  std::vector<uint8_t> writes;  ///< per argument: 1 if the op writes to it
  bool any_writes = false;

  /// Arguments that the kernel updates although the schema does not say so
  /// (running statistics), left out in a replay; they are written only if the
  /// bool argument `hidden_if` is true.
  std::vector<std::size_t> hidden_writes;
  static constexpr std::size_t always = static_cast<std::size_t>(-1);
  std::size_t hidden_if = always;

  /// Not the level we record at: a composite that calls other operators, seen
  /// on their own, or a call that autocast will still change.
  bool above_autograd(c10::DeviceType device) const;

  static OpInfo make(const c10::OperatorHandle& handle);

 private:
  explicit OpInfo(const c10::OperatorHandle& op) : handle(op) {}
  struct PerDevice {
    bool composite = false;
    bool autocast = false;
  };
  PerDevice cpu_, cuda_;
};

/// The operator that a RecordFunction callback is about; null for anything that
/// is not a dispatcher call. Cached by the address of the operator's name.
const OpInfo* find_op_info(const at::RecordFunction& call);

}  // namespace reforward
