// He et al., "Deep Residual Learning for Image Recognition" (2016); the stride of
// a bottleneck is in its 3 x 3 convolution, as in the well-known definitions.

#include <array>

#include "models/network.h"
#include "reforward/error.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

nn::Sequential projection(int64_t in, int64_t out, int64_t stride) {
  return nn::Sequential(conv(in, out, 1, stride), nn::BatchNorm2d(out));
}

struct BasicBlock : nn::Module {
  static constexpr int64_t expansion = 1;
  BasicBlock(int64_t in, int64_t width, int64_t stride)
      : conv1(register_module("conv1", conv(in, width, 3, stride))),
        bn1(register_module("bn1", nn::BatchNorm2d(width))),
        relu(register_module("relu", relu_in_place())),
        conv2(register_module("conv2", conv(width, width, 3))),
        bn2(register_module("bn2", nn::BatchNorm2d(width))) {
    if (stride != 1 || in != width) downsample = register_module("downsample", projection(in, width, stride));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto out = bn2(conv2(relu(bn1(conv1(x)))));
    out += downsample.is_empty() ? x : downsample->forward(x);
    return relu(out);
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::ReLU relu;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential downsample{nullptr};
};

struct Bottleneck : nn::Module {
  static constexpr int64_t expansion = 4;
  Bottleneck(int64_t in, int64_t width, int64_t stride)
      : conv1(register_module("conv1", conv(in, width, 1))),
        bn1(register_module("bn1", nn::BatchNorm2d(width))),
        conv2(register_module("conv2", conv(width, width, 3, stride))),
        bn2(register_module("bn2", nn::BatchNorm2d(width))),
        conv3(register_module("conv3", conv(width, width * expansion, 1))),
        bn3(register_module("bn3", nn::BatchNorm2d(width * expansion))),
        relu(register_module("relu", relu_in_place())) {
    if (stride != 1 || in != width * expansion) {
      downsample = register_module("downsample", projection(in, width * expansion, stride));
    }
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto out = relu(bn1(conv1(x)));
    out = relu(bn2(conv2(out)));
    out = bn3(conv3(out));
    out += downsample.is_empty() ? x : downsample->forward(x);
    return relu(out);
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Conv2d conv3;
  nn::BatchNorm2d bn3;
  nn::ReLU relu;
  nn::Sequential downsample{nullptr};
};

template <class Block>
struct ResNet : nn::Module {
  ResNet(const std::array<int64_t, 4>& blocks, int64_t classes)
      : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false)))),
        bn1(register_module("bn1", nn::BatchNorm2d(64))),
        relu(register_module("relu", relu_in_place())),
        maxpool(register_module("maxpool", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)))),
        layer1(register_module("layer1", stage(64, blocks[0], 1))),
        layer2(register_module("layer2", stage(128, blocks[1], 2))),
        layer3(register_module("layer3", stage(256, blocks[2], 2))),
        layer4(register_module("layer4", stage(512, blocks[3], 2))),
        avgpool(register_module("avgpool", nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({1, 1})))),
        fc(register_module("fc", nn::Linear(512 * Block::expansion, classes))) {
    kaiming_fan_out<nn::Conv2dImpl, nn::BatchNorm2dImpl>(*this);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto out = maxpool(relu(bn1(conv1(x))));
    out = layer4->forward(layer3->forward(layer2->forward(layer1->forward(out))));
    return fc(avgpool(out).flatten(1));
  }
  nn::Sequential stage(int64_t width, int64_t blocks, int64_t stride) {
    nn::Sequential layers;
    for (int64_t i = 0; i < blocks; ++i) {
      layers->push_back(Block(channels, width, i == 0 ? stride : 1));
      channels = width * Block::expansion;
    }
    return layers;
  }
  int64_t channels = 64;
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::ReLU relu;
  nn::MaxPool2d maxpool;
  nn::Sequential layer1, layer2, layer3, layer4;
  nn::AdaptiveAvgPool2d avgpool;
  nn::Linear fc;
};

}  // namespace

std::unique_ptr<Network> make_resnet(int depth, int64_t classes) {
  const auto basic = [&](std::array<int64_t, 4> blocks) {
    return make_classifier<ResNet<BasicBlock>>(blocks, classes);
  };
  const auto bottleneck = [&](std::array<int64_t, 4> blocks) {
    return make_classifier<ResNet<Bottleneck>>(blocks, classes);
  };
  switch (depth) {
    case 18:
      return basic({2, 2, 2, 2});
    case 34:
      return basic({3, 4, 6, 3});
    case 50:
      return bottleneck({3, 4, 6, 3});
    case 101:
      return bottleneck({3, 4, 23, 3});
    case 152:
      return bottleneck({3, 8, 36, 3});
    default:
      throw InternalError("a ResNet of an unknown depth");
  }
}

}  // namespace reforward::models
