// Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition" (2015), configuration D.

#include <array>

#include "models/network.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;

constexpr int64_t pool = 0;
constexpr std::array<int64_t, 18> vgg16{64,   64,  pool, 128, 128,  pool, 256, 256, 256,
                                        pool, 512, 512,  512, pool, 512,  512, 512, pool};

struct VGG : nn::Module {
  VGG(int64_t classes, bool batch_norm) {
    nn::Sequential layers;
    int64_t channels = 3;
    for (const int64_t width : vgg16) {
      if (width == pool) {
        layers->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(2)));
        continue;
      }
      layers->push_back(nn::Conv2d(nn::Conv2dOptions(channels, width, 3).padding(1)));
      if (batch_norm) layers->push_back(nn::BatchNorm2d(width));
      layers->push_back(relu_in_place());
      channels = width;
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

std::unique_ptr<Network> make_vgg16(int64_t classes, bool batch_norm) {
  return make_classifier<VGG>(classes, batch_norm);
}

}  // namespace reforward::models
