// Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014).

#include "models/network.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;

struct AlexNet : nn::Module {
  explicit AlexNet(int64_t classes) {
    features = register_module(
        "features", nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 64, 11).stride(4).padding(2)), relu_in_place(),
                                   nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2)),
                                   nn::Conv2d(nn::Conv2dOptions(64, 192, 5).padding(2)), relu_in_place(),
                                   nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2)),
                                   nn::Conv2d(nn::Conv2dOptions(192, 384, 3).padding(1)), relu_in_place(),
                                   nn::Conv2d(nn::Conv2dOptions(384, 256, 3).padding(1)), relu_in_place(),
                                   nn::Conv2d(nn::Conv2dOptions(256, 256, 3).padding(1)), relu_in_place(),
                                   nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2))));
    avgpool = register_module("avgpool", nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({6, 6})));
    classifier = register_module(
        "classifier", nn::Sequential(nn::Dropout(0.5), nn::Linear(256 * 6 * 6, 4096), relu_in_place(), nn::Dropout(0.5),
                                     nn::Linear(4096, 4096), relu_in_place(), nn::Linear(4096, classes)));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return classifier->forward(avgpool(features->forward(x)).flatten(1));
  }
  nn::Sequential features{nullptr}, classifier{nullptr};
  nn::AdaptiveAvgPool2d avgpool{nullptr};
};

}  // namespace

std::unique_ptr<Network> make_alexnet(int64_t classes) { return make_classifier<AlexNet>(classes); }

}  // namespace reforward::models
