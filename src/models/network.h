#pragma once

#include <torch/torch.h>

#include <memory>
#include <utility>

#include "models/models.h"

namespace reforward::models {

/// A module whose forward gives logits.
template <class Module>
class Classifier final : public Network {
 public:
  explicit Classifier(std::shared_ptr<Module> module) : module_(std::move(module)) {}
  torch::nn::Module& module() override { return *module_; }
  torch::Tensor loss(const torch::Tensor& data, const torch::Tensor& target) override {
    return torch::nn::functional::cross_entropy(module_->forward(data), target);
  }

 private:
  std::shared_ptr<Module> module_;
};

template <class Module, class... Arguments>
std::unique_ptr<Network> make_classifier(Arguments&&... arguments) {
  return std::make_unique<Classifier<Module>>(std::make_shared<Module>(std::forward<Arguments>(arguments)...));
}

inline torch::nn::ReLU relu_in_place() { return torch::nn::ReLU(torch::nn::ReLUOptions(true)); }

/// Convolutions as He et al. (2015) draw them, by the fan out; norms at 1 and 0.
template <class Convolution, class Norm>
void kaiming_fan_out(torch::nn::Module& root) {
  for (auto& module : root.modules(/*include_self=*/false)) {
    if (auto* convolution = module->as<Convolution>()) {
      torch::nn::init::kaiming_normal_(convolution->weight, 0.0, torch::kFanOut, torch::kReLU);
      if (convolution->bias.defined()) torch::nn::init::zeros_(convolution->bias);
    } else if (auto* norm = module->as<Norm>()) {
      torch::nn::init::ones_(norm->weight);
      torch::nn::init::zeros_(norm->bias);
    }
  }
}

}  // namespace reforward::models
