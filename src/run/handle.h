#pragma once

#include <c10/core/TensorImpl.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "reforward/ids.h"
#include "trace/tape.h"

namespace reforward {

class Step;

/// What autograd holds instead of a saved tensor: which value, read how. Only an
/// external's memory is held here; of a recorded value it is the step's to hold.
class Handle final : public torch::autograd::SavedVariableHooks {
 public:
  explicit Handle(std::shared_ptr<Step> step);
  ~Handle() override;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void call_pack_hook(const at::Tensor& tensor) override;
  at::Tensor call_unpack_hook() override;

  ValueId value;  ///< none: an external, held below
  SavedId saved;  ///< none: an external
  Geometry geometry;
  c10::Storage storage;  ///< of an external, or while `value` is not known yet
  at::Tensor opaque;     ///< of a tensor that is no plain strided memory

  /// Throws what plain PyTorch throws if the tensor was overwritten since.
  void check_version() const;

 private:
  std::shared_ptr<Step> step_;
  std::optional<c10::VariableVersion> counter_;
  uint32_t version_ = 0;
  std::string described_;
};

}  // namespace reforward
