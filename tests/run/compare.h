#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

namespace reforward::testing {

/// What a step leaves behind, as bytes outside the tensor allocator, so that
/// keeping it changes no memory figure.
struct Left {
  std::vector<std::string> parts;  ///< loss, gradients, buffers, generator state
};

inline std::string bytes_of(const torch::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  const auto flat = tensor.detach().contiguous();
  return {static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()};
}

inline Left what_is_left(torch::nn::Module& module, const std::string& loss) {
  Left left;
  left.parts.push_back(loss);
  for (const auto& parameter : module.parameters()) left.parts.push_back(bytes_of(parameter.grad()));
  for (const auto& buffer : module.buffers()) left.parts.push_back(bytes_of(buffer));
  left.parts.push_back(bytes_of(at::globalContext().defaultGenerator(at::kCPU).get_state()));
  return left;
}

/// Buffers, gradients and generator state, to go back to before another run of
/// the same step. (Forward and backward change nothing else.)
class State {
 public:
  explicit State(torch::nn::Module& module) : module_(module) {
    for (const auto& buffer : module.buffers()) buffers_.push_back(bytes_of(buffer));
    for (const auto& parameter : module.parameters()) gradients_.push_back(bytes_of(parameter.grad()));
    generator_ = bytes_of(at::globalContext().defaultGenerator(at::kCPU).get_state());
  }
  void restore() {
    torch::NoGradGuard no_grad;
    std::size_t i = 0;
    for (auto& buffer : module_.buffers()) std::memcpy(buffer.data_ptr(), buffers_[i].data(), buffers_[i].size()), ++i;
    i = 0;
    for (auto& parameter : module_.parameters()) {
      if (gradients_[i] == "undefined") {
        parameter.mutable_grad() = torch::Tensor();
      } else {
        std::memcpy(parameter.mutable_grad().data_ptr(), gradients_[i].data(), gradients_[i].size());
      }
      ++i;
    }
    auto copy = generator_;
    auto generator = at::globalContext().defaultGenerator(at::kCPU);
    generator.set_state(torch::from_blob(copy.data(), {static_cast<int64_t>(copy.size())}, torch::kByte));
  }

 private:
  torch::nn::Module& module_;
  std::vector<std::string> buffers_, gradients_;
  std::string generator_;
};

}  // namespace reforward::testing
