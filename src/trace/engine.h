#pragma once

#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <memory>

namespace reforward {

/// Told what the autograd engine does on this thread.
class EngineListener {
 public:
  virtual ~EngineListener() = default;
  /// Autograd saves a tensor: the hooks that will pack and unpack it; null for
  /// autograd's own way.
  virtual std::unique_ptr<torch::autograd::SavedVariableHooks> make_hooks() = 0;
  virtual void backward_begins() = 0;
  virtual void backward_ends() noexcept = 0;
};

/// The listener of this thread while it exists. The first one replaces the
/// process's engine by one that is the same but for asking listeners.
///
/// Note [Saved tensors in pure C++]
/// Autograd asks its engine for default saved-variable hooks each time it saves
/// a tensor. Python's engine looks them up among torch.autograd.graph's hooks;
/// the base engine has none. So in a program without Python a subclass of the
/// engine is the way in.
class EngineHook {
 public:
  explicit EngineHook(EngineListener& listener);
  ~EngineHook();
  EngineHook(const EngineHook&) = delete;
  EngineHook& operator=(const EngineHook&) = delete;
};

}  // namespace reforward
