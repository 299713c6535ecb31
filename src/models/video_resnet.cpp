// Tran et al., "A Closer Look at Spatiotemporal Convolutions for Action Recognition"
// (2018): R3D-18, 3 x 3 x 3 convolutions throughout.

#include <array>

#include "models/network.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;

nn::Conv3d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv3d(nn::Conv3dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BasicBlock : nn::Module {
  BasicBlock(int64_t in, int64_t width, int64_t stride)
      : conv1(register_module("conv1",
                              nn::Sequential(conv(in, width, 3, stride), nn::BatchNorm3d(width), relu_in_place()))),
        conv2(register_module("conv2", nn::Sequential(conv(width, width, 3, 1), nn::BatchNorm3d(width)))),
        relu(register_module("relu", relu_in_place())) {
    if (stride != 1 || in != width) {
      downsample = register_module("downsample", nn::Sequential(conv(in, width, 1, stride), nn::BatchNorm3d(width)));
    }
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto out = conv2->forward(conv1->forward(x));
    out += downsample.is_empty() ? x : downsample->forward(x);
    return relu(out);
  }
  nn::Sequential conv1, conv2;
  nn::ReLU relu;
  nn::Sequential downsample{nullptr};
};

struct VideoResNet : nn::Module {
  explicit VideoResNet(int64_t classes) {
    stem = register_module(
        "stem",
        nn::Sequential(nn::Conv3d(nn::Conv3dOptions(3, 64, {3, 7, 7}).stride({1, 2, 2}).padding({1, 3, 3}).bias(false)),
                       nn::BatchNorm3d(64), relu_in_place()));
    layer1 = register_module("layer1", stage(64, 64, 1));
    layer2 = register_module("layer2", stage(64, 128, 2));
    layer3 = register_module("layer3", stage(128, 256, 2));
    layer4 = register_module("layer4", stage(256, 512, 2));
    fc = register_module("fc", nn::Linear(512, classes));
    kaiming_fan_out<nn::Conv3dImpl, nn::BatchNorm3dImpl>(*this);
    nn::init::normal_(fc->weight, 0, 0.01);
    nn::init::zeros_(fc->bias);
  }
  static nn::Sequential stage(int64_t in, int64_t width, int64_t stride) {
    return nn::Sequential(BasicBlock(in, width, stride), BasicBlock(width, width, 1));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto out = layer2->forward(layer1->forward(stem->forward(x)));
    out = layer4->forward(layer3->forward(out));
    return fc(torch::adaptive_avg_pool3d(out, {1, 1, 1}).flatten(1));
  }
  nn::Sequential stem{nullptr}, layer1{nullptr}, layer2{nullptr}, layer3{nullptr}, layer4{nullptr};
  nn::Linear fc{nullptr};
};

}  // namespace

std::unique_ptr<Network> make_video_resnet18(int64_t classes) { return make_classifier<VideoResNet>(classes); }

}  // namespace reforward::models
