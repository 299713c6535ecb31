#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reforward::testing {

/// A small network with its loss, made to contain one kind of difficulty each.
struct Net {
  std::string name;
  std::shared_ptr<torch::nn::Module> module;
  std::function<torch::Tensor(const torch::Tensor&)> loss;  ///< of a batch
  std::function<torch::Tensor(int64_t)> batch;              ///< of so many samples
};

/// Convolutions, batch norm, in-place ReLU, in-place residual sums, dropout.
inline Net residual_net(int64_t blocks = 4, int64_t width = 8) {
  namespace nn = torch::nn;
  struct Impl : nn::Module {
    Impl(int64_t blocks, int64_t width) {
      stem = register_module("stem", nn::Conv2d(nn::Conv2dOptions(3, width, 3).padding(1)));
      for (int64_t i = 0; i < blocks; ++i) {
        const auto n = std::to_string(i);
        convs.push_back(
            register_module("conv_a" + n, nn::Conv2d(nn::Conv2dOptions(width, width, 3).padding(1).bias(false))));
        norms.push_back(register_module("norm_a" + n, nn::BatchNorm2d(width)));
        convs.push_back(
            register_module("conv_b" + n, nn::Conv2d(nn::Conv2dOptions(width, width, 3).padding(1).bias(false))));
        norms.push_back(register_module("norm_b" + n, nn::BatchNorm2d(width)));
      }
      head = register_module("head", nn::Linear(width, 10));
    }
    torch::Tensor forward(const torch::Tensor& input) {
      auto x = stem(input);
      for (std::size_t i = 0; i < convs.size(); i += 2) {
        auto y = norms[i](convs[i](x));
        y = torch::relu_(y);
        y = torch::dropout(y, 0.3, true);
        y = norms[i + 1](convs[i + 1](y));
        y += x;
        x = torch::relu_(y);
      }
      return head(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
    }
    nn::Conv2d stem{nullptr};
    std::vector<nn::Conv2d> convs;
    std::vector<nn::BatchNorm2d> norms;
    nn::Linear head{nullptr};
  };
  auto module = std::make_shared<Impl>(blocks, width);
  return {"residual", module,
          [module](const torch::Tensor& x) {
            return torch::cross_entropy_loss(module->forward(x), torch::zeros({x.size(0)}, torch::kLong));
          },
          [](int64_t n) {
            return torch::randn({n, 3, 16, 16});
          }};
}

/// Concatenations of everything before, as in DenseNet.
inline Net dense_net(int64_t layers = 5, int64_t growth = 4) {
  namespace nn = torch::nn;
  struct Impl : nn::Module {
    Impl(int64_t layers, int64_t growth) {
      for (int64_t i = 0; i < layers; ++i) {
        const auto n = std::to_string(i);
        norms.push_back(register_module("norm" + n, nn::BatchNorm2d(3 + i * growth)));
        convs.push_back(
            register_module("conv" + n, nn::Conv2d(nn::Conv2dOptions(3 + i * growth, growth, 3).padding(1))));
      }
    }
    torch::Tensor forward(const torch::Tensor& input) {
      std::vector<torch::Tensor> features{input};
      for (std::size_t i = 0; i < convs.size(); ++i) {
        auto y = norms[i](torch::cat(features, 1));
        features.push_back(torch::dropout(convs[i](torch::relu_(y)), 0.2, true));
      }
      return torch::cat(features, 1);
    }
    std::vector<nn::BatchNorm2d> norms;
    std::vector<nn::Conv2d> convs;
  };
  auto module = std::make_shared<Impl>(layers, growth);
  return {"dense", module, [module](const torch::Tensor& x) { return module->forward(x).square().mean(); },
          [](int64_t n) {
            return torch::randn({n, 3, 12, 12});
          }};
}

/// A transformer encoder with dropout.
inline Net encoder_net(int64_t layers = 2, int64_t width = 16) {
  namespace nn = torch::nn;
  struct Impl : nn::Module {
    Impl(int64_t layers, int64_t width) {
      encoder = register_module(
          "encoder", nn::TransformerEncoder(nn::TransformerEncoderOptions(
                         nn::TransformerEncoderLayerOptions(width, 2).dim_feedforward(32).dropout(0.1), layers)));
    }
    nn::TransformerEncoder encoder{nullptr};
  };
  auto module = std::make_shared<Impl>(layers, width);
  return {"encoder", module, [module](const torch::Tensor& x) { return module->encoder(x).square().mean(); },
          [width](int64_t n) {
            return torch::randn({7, n, width});
          }};
}

inline std::vector<Net> all_nets() { return {residual_net(), dense_net(), encoder_net()}; }

}  // namespace reforward::testing
