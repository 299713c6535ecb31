#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/replay.h"
#include "trace/tape.h"

namespace reforward {

/// A copy of the whole storage, on its device.
c10::Storage clone_storage(const c10::Storage& storage);

/// True if both hold the same bytes.
bool storages_equal(const c10::Storage& a, const c10::Storage& b);

/// True if both have the same dtype, sizes and strides and equal bits (NaN equals NaN).
bool bits_equal(const at::Tensor& a, const at::Tensor& b);

/// Whether an op gives the same bits when it is run again. Checked the first
/// time an operator appears with given dtypes, layouts and device: it is
/// replayed at once, while its inputs are there, and compared.
class ReplayCheck {
 public:
  struct Verdict {
    bool replayable = true;
    bool random = false;
    std::string reason;  ///< why not replayable
  };

  /// Before the op runs. `operands` alias the op's arguments. Returns the verdict
  /// if the op's kind is known; if not, `end` or `abandon` must follow.
  const Verdict* begin(const TapeOp& op, const std::vector<at::Tensor>& operands);
  bool pending() const { return pending_; }
  /// After it ran, with its results; `state_before` is that of its generator.
  Verdict end(const TapeOp& op, const std::vector<at::Tensor>& results, const std::vector<at::Tensor>& operands,
              const GeneratorState& state_before, c10::DeviceType device);
  /// The op turned out to make nothing: there is nothing to compare, next time too.
  void pass();
  void abandon();

 private:
  bool pending_ = false;
  uint64_t kind_ = 0;
  std::vector<at::Tensor> inputs_;
};

}  // namespace reforward
