// Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition" (2015): configurations A, B, D and E, with batch norm or without.

#include <array>

#include "models/network.h"
#include "reforward/error.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;

/// How many convolutions come before each of the five poolings.
using Convolutions = std::array<int64_t, 5>;
constexpr std::array<int64_t, 5> widths{64, 128, 256, 512, 512};

Convolutions convolutions_of(int depth) {
  switch (depth) {
    case 11:
      return {1, 1, 2, 2, 2};
    case 13:
      return {2, 2, 2, 2, 2};
    case 16:
      return {2, 2, 3, 3, 3};
    case 19:
      return {2, 2, 4, 4, 4};
    default:
      throw InternalError("a VGG of an unknown depth");
  }
}

struct VGG : nn::Module {
  VGG(const Convolutions& convolutions, bool batch_norm, int64_t classes) {
    nn::Sequential layers;
    int64_t channels = 3;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      for (int64_t j = 0; j < convolutions[i]; ++j) {
        layers->push_back(nn::Conv2d(nn::Conv2dOptions(channels, widths[i], 3).padding(1)));
        if (batch_norm) layers->push_back(nn::BatchNorm2d(widths[i]));
        layers->push_back(relu_in_place());
        channels = widths[i];
      }
      layers->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(2)));
    }
    features = register_module("features", layers);
    avgpool = register_module("avgpool", nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({7, 7})));
    classifier = register_module("classifier", nn::Sequential(nn::Linear(512 * 7 * 7, 4096), relu_in_place(),
                                                              nn::Dropout(0.5), nn::Linear(4096, 4096), relu_in_place(),
                                                              nn::Dropout(0.5), nn::Linear(4096, classes)));
    kaiming_fan_out<nn::Conv2dImpl, nn::BatchNorm2dImpl>(*this);
    for (auto& module : modules(false)) {
      if (auto* linear = module->as<nn::LinearImpl>()) {
        nn::init::normal_(linear->weight, 0, 0.01);
        nn::init::zeros_(linear->bias);
      }
    }
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return classifier->forward(avgpool(features->forward(x)).flatten(1));
  }
  nn::Sequential features{nullptr}, classifier{nullptr};
  nn::AdaptiveAvgPool2d avgpool{nullptr};
};

}  // namespace

std::unique_ptr<Network> make_vgg(int depth, bool batch_norm, int64_t classes) {
  return make_classifier<VGG>(convolutions_of(depth), batch_norm, classes);
}

}  // namespace reforward::models
