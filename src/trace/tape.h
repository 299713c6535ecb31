#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>
#include <c10/util/DimVector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "reforward/ids.h"
#include "trace/op_info.h"

namespace reforward {

/// How a tensor reads its value: everything about it but the contents.
struct Geometry {
  c10::DimVector sizes;
  c10::DimVector strides;
  int64_t offset = 0;
  caffe2::TypeMeta dtype;
  c10::DispatchKeySet keys;  ///< conjugate and negative bits are among them

  static Geometry of(const at::Tensor& tensor);
  bool matches(const at::Tensor& tensor) const;
  /// A tensor over `storage`, outside autograd, allocating nothing.
  at::Tensor view(c10::Storage storage) const;
};

struct Operand {
  ValueId value;
  Geometry geometry;
};

/// One argument of a recorded call: a constant as it was given, or tensors,
/// which are never held but named by their values.
struct Argument {
  enum class Kind : uint8_t { constant, tensor, tensor_list, optional_tensor_list };
  Kind kind = Kind::constant;
  c10::IValue constant;
  std::vector<int32_t> operands;  ///< into TapeOp::operands; -1: undefined or None
};

/// Where a value made by an op is found when the op has run. What an op writes
/// into an external is an external again: a value without a maker.
struct Output {
  ValueId value;
  int32_t result = -1;   ///< flat index among the returned tensors, or
  int32_t operand = -1;  ///< the operand that was written in place
};

struct TapeOp {
  const OpInfo* info = nullptr;
  std::vector<Argument> arguments;
  std::vector<Operand> operands;
  std::vector<Output> outputs;
  bool pinned = false;
  std::string pinned_reason;
  bool random = false;
  caffe2::TypeMeta default_dtype;  ///< of the process when it ran: factories read it
  bool writes_external = false;    ///< never replayed: its output is in the external's own storage
};

/// What is known of a value while it is recorded; the plain form is Value.
struct TapeValue {
  OpId maker;          ///< none: external
  ValueId overwrites;  ///< see Value
  bool overwritten = false;
  bool requires_grad = false;
  int64_t bytes = 0;
};

/// The recorded ops of one step, with what is needed to run them again. Holds no
/// tensor of the step, except those that are no plain strided memory.
struct Tape {
  std::vector<TapeOp> ops;
  std::vector<TapeValue> values;
};

/// True for tensors whose contents are a strided view of one storage: all that
/// we track. Others (sparse, opaque, subclasses without memory, Python numbers
/// wrapped as tensors) pass through as constants.
bool trackable(const at::Tensor& tensor);

/// The tensors of a value that an op takes or returns, in order; an undefined
/// tensor for each None. Anything else has none.
template <class Visitor>
void for_each_tensor(const c10::IValue& value, Visitor&& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  } else if (value.isOptionalTensorList()) {
    for (const auto& tensor : value.toOptionalTensorVector()) visit(tensor.value_or(at::Tensor()));
  }
}

/// Each operand that the op writes to.
template <class Visitor>
void for_each_written(const TapeOp& op, Visitor&& visit) {
  if (!op.info->any_writes) return;
  for (std::size_t a = 0; a < op.arguments.size(); ++a) {
    if (op.info->writes[a] == 0) continue;
    for (const int32_t operand : op.arguments[a].operands) {
      if (operand >= 0) visit(static_cast<std::size_t>(operand));
    }
  }
}

/// A Python or C++ number that was passed as a tensor.
bool is_number(const at::Tensor& tensor);
/// Takes a tensor that is neither plain strided memory nor a number.
bool has_opaque_tensor(const c10::IValue& value);
/// An argument that this call updates in secret; see OpInfo::hidden_writes.
bool is_hidden_write(const OpInfo& info, std::size_t argument, c10::ArrayRef<const c10::IValue> inputs);

}  // namespace reforward
