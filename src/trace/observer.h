#pragma once

#include <ATen/record_function.h>

#include <vector>

#include "trace/op_info.h"

namespace reforward {

/// Told about each call at the level we record (see OpInfo::above_autograd), and
/// never about what happens inside one. Must not throw: PyTorch swallows
/// exceptions of observers.
class OpListener {
 public:
  virtual ~OpListener() = default;
  virtual void op_begin(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) noexcept = 0;
  virtual void op_end(const std::vector<c10::IValue>& outputs) noexcept = 0;
  virtual void op_failed() noexcept = 0;  ///< the op that began last has thrown
};

/// Watches the dispatcher calls of this thread while it exists; one at a time.
class Observer {
 public:
  explicit Observer(OpListener& listener);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Not a single call is seen, or costs anything, from `stop` on.
  void stop();

 private:
  at::CallbackHandle handle_;
  bool stopped_ = false;
};

}  // namespace reforward
