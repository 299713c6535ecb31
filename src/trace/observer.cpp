#include "trace/observer.h"

#include <exception>
#include <memory>

#include "reforward/error.h"

namespace reforward {
namespace {

struct Watch {
  OpListener* listener = nullptr;
  int depth = 0;       // calls in progress
  int op_depth = 0;    // depth of the recorded op in progress; 0: none
  int exceptions = 0;  // in flight when it began
};
thread_local Watch watch;

c10::DeviceType device_of(c10::ArrayRef<const c10::IValue> inputs) {
  for (const auto& input : inputs) {
    if (input.isTensor() && input.toTensor().defined()) return input.toTensor().device().type();
    if (input.isTensorList()) {
      const auto list = input.toTensorList();
      if (!list.empty()) return list.get(0).device().type();
    }
  }
  return c10::kCPU;
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& call) {
  ++watch.depth;
  if (watch.op_depth != 0 || watch.listener == nullptr) return nullptr;
  const OpInfo* info = find_op_info(call);
  if (info == nullptr || !info->makes_values) return nullptr;
  const auto inputs = call.inputs();
  if (info->above_autograd(device_of(inputs))) return nullptr;
  watch.op_depth = watch.depth;
  watch.exceptions = std::uncaught_exceptions();
  watch.listener->op_begin(*info, inputs);
  return nullptr;
}

void on_end(const at::RecordFunction& call, at::ObserverContext*) {
  if (watch.op_depth != 0 && watch.depth == watch.op_depth) {
    watch.op_depth = 0;
    if (watch.listener != nullptr) {
      if (std::uncaught_exceptions() > watch.exceptions) {
        watch.listener->op_failed();
      } else {
        watch.listener->op_end(call.outputs());
      }
    }
  }
  --watch.depth;
}

}  // namespace

Observer::Observer(OpListener& listener) {
  invariant(watch.listener == nullptr, "two observers on one thread");
  watch = {};
  watch.listener = &listener;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(on_start, on_end)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

Observer::~Observer() {
  at::removeCallback(handle_);
  watch = {};
}

void Observer::stop() {
  if (stopped_) return;
  stopped_ = true;
  watch.listener = nullptr;
  at::disableCallback(handle_);
}

}  // namespace reforward
