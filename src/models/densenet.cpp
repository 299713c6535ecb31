// Huang et al., "Densely Connected Convolutional Networks" (2017): bottleneck
// 4 x, compression 0.5, no dropout.

#include <array>
#include <string>
#include <vector>

#include "models/network.h"
#include "reforward/error.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).padding(kernel / 2).bias(false));
}

struct DenseLayer : nn::Module {
  DenseLayer(int64_t in, int64_t growth)
      : norm1(register_module("norm1", nn::BatchNorm2d(in))),
        relu1(register_module("relu1", relu_in_place())),
        conv1(register_module("conv1", conv(in, 4 * growth, 1))),
        norm2(register_module("norm2", nn::BatchNorm2d(4 * growth))),
        relu2(register_module("relu2", relu_in_place())),
        conv2(register_module("conv2", conv(4 * growth, growth, 3))) {}
  torch::Tensor forward(const std::vector<torch::Tensor>& features) {
    return conv2(relu2(norm2(conv1(relu1(norm1(torch::cat(features, 1)))))));
  }
  nn::BatchNorm2d norm1;
  nn::ReLU relu1;
  nn::Conv2d conv1;
  nn::BatchNorm2d norm2;
  nn::ReLU relu2;
  nn::Conv2d conv2;
};

struct DenseBlock : nn::Module {
  DenseBlock(int64_t layers_count, int64_t in, int64_t growth) {
    for (int64_t i = 0; i < layers_count; ++i) {
      std::string name = "denselayer";
      name += std::to_string(i + 1);
      layers.push_back(register_module(name, std::make_shared<DenseLayer>(in + i * growth, growth)));
    }
  }
  torch::Tensor forward(const torch::Tensor& x) {
    std::vector<torch::Tensor> features{x};
    for (const auto& layer : layers) features.push_back(layer->forward(features));
    return torch::cat(features, 1);
  }
  std::vector<std::shared_ptr<DenseLayer>> layers;
};

struct Transition : nn::Module {
  Transition(int64_t in, int64_t out)
      : norm(register_module("norm", nn::BatchNorm2d(in))),
        relu(register_module("relu", relu_in_place())),
        reduce(register_module("conv", conv(in, out, 1))),
        pool(register_module("pool", nn::AvgPool2d(nn::AvgPool2dOptions(2).stride(2)))) {}
  torch::Tensor forward(const torch::Tensor& x) { return pool(reduce(relu(norm(x)))); }
  nn::BatchNorm2d norm;
  nn::ReLU relu;
  nn::Conv2d reduce;
  nn::AvgPool2d pool;
};

struct DenseNet : nn::Module {
  DenseNet(const std::array<int64_t, 4>& blocks, int64_t growth, int64_t channels, int64_t classes) {
    features = nn::Sequential();
    features->push_back("conv0", nn::Conv2d(nn::Conv2dOptions(3, channels, 7).stride(2).padding(3).bias(false)));
    features->push_back("norm0", nn::BatchNorm2d(channels));
    features->push_back("relu0", relu_in_place());
    features->push_back("pool0", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto number = std::to_string(i + 1);
      features->push_back("denseblock" + number, DenseBlock(blocks[i], channels, growth));
      channels += blocks[i] * growth;
      if (i + 1 == blocks.size()) break;
      features->push_back("transition" + number, Transition(channels, channels / 2));
      channels /= 2;
    }
    features->push_back("norm5", nn::BatchNorm2d(channels));
    register_module("features", features);
    classifier = register_module("classifier", nn::Linear(channels, classes));
    for (auto& module : modules(false)) {
      if (auto* convolution = module->as<nn::Conv2dImpl>()) nn::init::kaiming_normal_(convolution->weight);
    }
    nn::init::zeros_(classifier->bias);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto out = features->forward(x);
    out = torch::relu_(out);
    return classifier(torch::adaptive_avg_pool2d(out, {1, 1}).flatten(1));
  }
  nn::Sequential features{nullptr};
  nn::Linear classifier{nullptr};
};

}  // namespace

std::unique_ptr<Network> make_densenet(int depth, int64_t classes) {
  const auto dense = [&](std::array<int64_t, 4> blocks, int64_t growth) {
    return make_classifier<DenseNet>(blocks, growth, 2 * growth, classes);
  };
  switch (depth) {
    case 121:
      return dense({6, 12, 24, 16}, 32);
    case 161:
      return dense({6, 12, 36, 24}, 48);
    case 169:
      return dense({6, 12, 32, 32}, 32);
    case 201:
      return dense({6, 12, 48, 32}, 32);
    default:
      throw InternalError("a DenseNet of an unknown depth");
  }
}

}  // namespace reforward::models
