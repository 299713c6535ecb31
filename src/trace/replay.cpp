#include "trace/replay.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <cstring>
#include <mutex>

#include "reforward/error.h"

namespace reforward {

// Note [Replay of random ops]
// The state that the generator had before the op is put back, the op draws the
// same numbers, and then the generator gets the state that it had before the
// replay: to the rest of the program nothing was drawn. The state is kept in
// ordinary memory, since it is no tensor of the step.

at::Generator generator_of(const TapeOp& op, const std::vector<c10::IValue>& constants, c10::DeviceType device) {
  for (const auto& constant : constants) {
    if (constant.isGenerator()) return constant.toGenerator();
  }
  bool on_device = false;
  for (const auto& operand : op.operands) {
    on_device |= !operand.geometry.keys.has_backend(c10::BackendComponent::CPUBit);
  }
  for (const auto& argument : op.arguments) {
    if (argument.constant.isDevice()) on_device |= !argument.constant.toDevice().is_cpu();
  }
  return at::globalContext().defaultGenerator(c10::Device(on_device ? device : c10::kCPU));
}

int64_t generator_state_bytes() {
  static const auto bytes =
      static_cast<int64_t>(save_generator(at::globalContext().defaultGenerator(c10::Device(c10::kCPU))).size());
  return bytes;
}

GeneratorState save_generator(at::Generator generator) {
  std::lock_guard<std::mutex> lock(generator.mutex());
  const at::Tensor state = generator.get_state();
  return {static_cast<const char*>(state.const_data_ptr()), state.nbytes()};
}

void restore_generator(at::Generator generator, const GeneratorState& state) {
  std::string copy = state;
  const at::Tensor tensor = at::from_blob(copy.data(), {static_cast<int64_t>(copy.size())}, at::kByte);
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(tensor);
}

namespace {

class WithGeneratorState {
 public:
  WithGeneratorState(at::Generator generator, const GeneratorState& state)
      : generator_(std::move(generator)), before_(save_generator(generator_)) {
    restore_generator(generator_, state);
  }
  ~WithGeneratorState() { restore_generator(generator_, before_); }
  WithGeneratorState(const WithGeneratorState&) = delete;
  WithGeneratorState& operator=(const WithGeneratorState&) = delete;

 private:
  at::Generator generator_;
  GeneratorState before_;
};

void push_argument(torch::jit::Stack& stack, const Argument& argument, const c10::IValue& constant,
                   const std::vector<at::Tensor>& operands) {
  const auto tensor_at = [&](int32_t index) {
    return index < 0 ? at::Tensor() : operands[static_cast<std::size_t>(index)];
  };
  switch (argument.kind) {
    case Argument::Kind::constant:
      stack.push_back(constant);
      break;
    case Argument::Kind::tensor:
      stack.emplace_back(tensor_at(argument.operands.front()));
      break;
    case Argument::Kind::tensor_list: {
      c10::List<at::Tensor> list;
      for (const int32_t index : argument.operands) list.push_back(tensor_at(index));
      stack.emplace_back(std::move(list));
      break;
    }
    case Argument::Kind::optional_tensor_list: {
      c10::List<std::optional<at::Tensor>> list;
      for (const int32_t index : argument.operands) {
        list.push_back(index < 0 ? std::nullopt : std::optional<at::Tensor>(tensor_at(index)));
      }
      stack.emplace_back(std::move(list));
      break;
    }
  }
}

void call_below_autograd(const TapeOp& op, torch::jit::Stack& stack) {
  // The op was recorded below autocast; backward may run with it switched on.
  at::NoGradGuard no_grad;
  at::AutoDispatchBelowADInplaceOrView below;
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  op.info->handle.callBoxed(stack);
}

}  // namespace

std::vector<c10::IValue> constants_of(const TapeOp& op) {
  std::vector<c10::IValue> constants;
  constants.reserve(op.arguments.size());
  for (const auto& argument : op.arguments) constants.push_back(argument.constant);
  return constants;
}

std::vector<at::Tensor> replay(const TapeOp& op, const std::vector<c10::IValue>& constants,
                               const std::vector<at::Tensor>& operands, const GeneratorState* random_state,
                               c10::DeviceType device) {
  at::DisableRecordFunctionGuard unseen;
  struct DefaultDtype {
    explicit DefaultDtype(caffe2::TypeMeta wanted) : before(c10::get_default_dtype()) { set(wanted); }
    ~DefaultDtype() { set(before); }
    static void set(caffe2::TypeMeta dtype) {
      if (dtype != c10::get_default_dtype()) c10::set_default_dtype(dtype);
    }
    caffe2::TypeMeta before;
  } default_dtype(op.default_dtype);
  torch::jit::Stack stack;
  stack.reserve(op.arguments.size());
  for (std::size_t i = 0; i < op.arguments.size(); ++i) {
    push_argument(stack, op.arguments[i], constants[i], operands);
  }
  if (random_state != nullptr) {
    WithGeneratorState with(generator_of(op, constants, device), *random_state);
    call_below_autograd(op, stack);
  } else {
    call_below_autograd(op, stack);
  }
  std::vector<at::Tensor> results;
  for (const auto& value : stack) {
    for_each_tensor(value, [&](const at::Tensor& tensor) { results.push_back(tensor); });
  }
  return results;
}

}  // namespace reforward
