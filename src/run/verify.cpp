#include "run/verify.h"

#include <cstring>

#include "reforward/error.h"

namespace reforward {
namespace {

std::string bytes_of(const torch::Tensor& tensor) {
  if (!tensor.defined()) return "none";
  const torch::Tensor flat = tensor.detach().cpu().contiguous();
  return {static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()};
}

void put_back(const torch::Tensor& tensor, std::string bytes) {
  invariant(bytes.size() == tensor.nbytes(), "a saved state does not fit its tensor");
  tensor.detach().copy_(torch::from_blob(bytes.data(), tensor.sizes(), tensor.scalar_type()));
}

at::Generator generator() { return at::globalContext().defaultGenerator(at::kCPU); }

}  // namespace

StepResult StepResult::of(torch::nn::Module& module, const torch::Tensor& loss) {
  StepResult result;
  result.loss = bytes_of(loss);
  for (const auto& parameter : module.parameters()) result.gradients.push_back(bytes_of(parameter.grad()));
  for (const auto& buffer : module.buffers()) result.buffers.push_back(bytes_of(buffer));
  result.random_state = bytes_of(generator().get_state());
  return result;
}

Equality& Equality::operator&=(const Equality& other) {
  loss &= other.loss;
  gradients &= other.gradients;
  buffers &= other.buffers;
  random_state &= other.random_state;
  return *this;
}

Equality compare(const StepResult& a, const StepResult& b) {
  return {a.loss == b.loss, a.gradients == b.gradients, a.buffers == b.buffers, a.random_state == b.random_state};
}

StepState::StepState(torch::nn::Module& module) : module_(module), state_(StepResult::of(module, {})) {}

void StepState::restore() const {
  torch::NoGradGuard no_grad;
  std::size_t i = 0;
  for (auto& parameter : module_.parameters()) {
    const auto& saved = state_.gradients[i++];
    if (saved == "none") {
      parameter.mutable_grad() = torch::Tensor();
    } else {
      put_back(parameter.grad(), saved);
    }
  }
  i = 0;
  for (auto& buffer : module_.buffers()) put_back(buffer, state_.buffers[i++]);
  auto copy = state_.random_state;
  auto target = generator();
  target.set_state(torch::from_blob(copy.data(), {static_cast<int64_t>(copy.size())}, torch::kByte));
}

}  // namespace reforward
