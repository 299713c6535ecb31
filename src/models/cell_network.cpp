// Networks of searched cells, as Liu et al., "DARTS: Differentiable Architecture
// Search" (2019), train them on CIFAR-10: 20 cells, of which two halve the image and
// double the channels, and 36 channels to begin with; without the auxiliary head and
// without drop path. Layer names are those of the published weights.

#include <memory>
#include <utility>
#include <vector>

#include "models/genotypes.h"
#include "models/network.h"
#include "reforward/error.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;
using Kernel = torch::ExpandingArray<2>;

/// Not in place: a state of a cell is read by several operations.
nn::ReLU relu() { return {}; }

nn::Conv2d conv(int64_t in, int64_t out, Kernel kernel, Kernel stride = 1, Kernel padding = 0) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding).bias(false));
}

/// A convolution of each channel by itself.
nn::Conv2d depthwise(int64_t channels, int64_t kernel, int64_t stride, int64_t dilation = 1) {
  return nn::Conv2d(nn::Conv2dOptions(channels, channels, kernel)
                        .stride(stride)
                        .padding(dilation * (kernel / 2))
                        .dilation(dilation)
                        .groups(channels)
                        .bias(false));
}

/// Layers one after another, named `op`.
struct Chain : nn::Module {
  explicit Chain(nn::Sequential layers) : op(register_module("op", std::move(layers))) {}
  torch::Tensor forward(const torch::Tensor& x) { return op->forward(x); }
  nn::Sequential op;
};

/// The same without a name. AnyModule wants a forward that is no template.
struct UnnamedChain : nn::SequentialImpl {
  using nn::SequentialImpl::SequentialImpl;
  torch::Tensor forward(const torch::Tensor& x) { return nn::SequentialImpl::forward(x); }
};

Chain relu_conv_bn(int64_t in, int64_t out) {
  return Chain(nn::Sequential(relu(), conv(in, out, 1), nn::BatchNorm2d(out)));
}

Chain separable(int64_t channels, int64_t kernel, int64_t stride) {
  return Chain(nn::Sequential(relu(), depthwise(channels, kernel, stride), conv(channels, channels, 1),
                              nn::BatchNorm2d(channels), relu(), depthwise(channels, kernel, 1),
                              conv(channels, channels, 1), nn::BatchNorm2d(channels)));
}

Chain dilated(int64_t channels, int64_t kernel, int64_t stride) {
  return Chain(nn::Sequential(relu(), depthwise(channels, kernel, stride, 2), conv(channels, channels, 1),
                              nn::BatchNorm2d(channels)));
}

/// Halves the image by two strided convolutions, one of them shifted by a pixel.
struct FactorizedReduce : nn::Module {
  FactorizedReduce(int64_t in, int64_t out)
      : conv_1(register_module("conv_1", conv(in, out / 2, 1, 2))),
        conv_2(register_module("conv_2", conv(in, out / 2, 1, 2))),
        bn(register_module("bn", nn::BatchNorm2d(out))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    const auto active = torch::relu(x);
    const auto shifted = active.slice(2, 1).slice(3, 1);
    return bn(torch::cat({conv_1(active), conv_2(shifted)}, 1));
  }
  nn::Conv2d conv_1, conv_2;
  nn::BatchNorm2d bn;
};

nn::AnyModule make_operation(Operation operation, int64_t channels, int64_t stride) {
  switch (operation) {
    case Operation::avg_pool_3x3:
      return nn::AnyModule(nn::AvgPool2d(nn::AvgPool2dOptions(3).stride(stride).padding(1).count_include_pad(false)));
    case Operation::max_pool_3x3:
      return nn::AnyModule(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(stride).padding(1)));
    case Operation::skip_connect:
      if (stride == 1) return nn::AnyModule(nn::Identity());
      return nn::AnyModule(FactorizedReduce(channels, channels));
    case Operation::sep_conv_3x3:
      return nn::AnyModule(separable(channels, 3, stride));
    case Operation::sep_conv_5x5:
      return nn::AnyModule(separable(channels, 5, stride));
    case Operation::sep_conv_7x7:
      return nn::AnyModule(separable(channels, 7, stride));
    case Operation::dil_conv_3x3:
      return nn::AnyModule(dilated(channels, 3, stride));
    case Operation::conv_7x1_1x7:
      return nn::AnyModule(std::make_shared<UnnamedChain>(
          relu(), conv(channels, channels, {{1, 7}}, {{1, stride}}, {{0, 3}}),
          conv(channels, channels, {{7, 1}}, {{stride, 1}}, {{3, 0}}), nn::BatchNorm2d(channels)));
  }
  throw InternalError("a cell has an operation that is not known");
}

/// The place of a cell: the channels of the two outputs before it and its own, whether
/// it halves the image and whether the cell before it did.
struct Place {
  int64_t channels_before_last, channels_last, channels;
  bool reduction, after_reduction;
};

struct Cell : nn::Module {
  Cell(const CellType& cell, const Place& place) : type(cell) {
    // The output before the last is still of the size before a reduction.
    preprocess0 = place.after_reduction ? nn::AnyModule(FactorizedReduce(place.channels_before_last, place.channels))
                                        : nn::AnyModule(relu_conv_bn(place.channels_before_last, place.channels));
    register_module("preprocess0", preprocess0.ptr());
    preprocess1 = nn::AnyModule(relu_conv_bn(place.channels_last, place.channels));
    register_module("preprocess1", preprocess1.ptr());
    nn::ModuleList list;
    for (const auto& node : type.nodes) {
      for (const Edge& edge : node) {
        const int64_t stride = place.reduction && edge.from < 2 ? 2 : 1;
        operations.push_back(make_operation(edge.operation, place.channels, stride));
        list->push_back(operations.back().ptr());
      }
    }
    register_module("_ops", list);
  }
  torch::Tensor forward(const torch::Tensor& before_last, const torch::Tensor& last) {
    std::vector<torch::Tensor> states{preprocess0.forward(before_last), preprocess1.forward(last)};
    for (std::size_t i = 0; i < type.nodes.size(); ++i) {
      const auto& [a, b] = type.nodes[i];
      const auto left = operations[2 * i].forward(states[a.from]);
      states.push_back(left + operations[2 * i + 1].forward(states[b.from]));
    }
    std::vector<torch::Tensor> outputs;
    for (const std::size_t state : type.concat) outputs.push_back(states[state]);
    return torch::cat(outputs, 1);
  }
  CellType type;
  nn::AnyModule preprocess0, preprocess1;
  std::vector<nn::AnyModule> operations;  ///< two a node
};

struct CellNetwork : nn::Module {
  CellNetwork(const Genotype& genotype, int64_t classes) {
    constexpr int64_t cells_count = 20, first_channels = 36, stem_multiplier = 3;
    Place place{.channels_before_last = stem_multiplier * first_channels,
                .channels_last = stem_multiplier * first_channels,
                .channels = first_channels,
                .reduction = false,
                .after_reduction = false};
    stem = register_module("stem",
                           nn::Sequential(conv(3, place.channels_last, 3, 1, 1), nn::BatchNorm2d(place.channels_last)));
    nn::ModuleList list;
    for (int64_t i = 0; i < cells_count; ++i) {
      place.after_reduction = std::exchange(place.reduction, i == cells_count / 3 || i == 2 * cells_count / 3);
      if (place.reduction) place.channels *= 2;
      const CellType& type = place.reduction ? genotype.reduce : genotype.normal;
      cells.push_back(std::make_shared<Cell>(type, place));
      list->push_back(cells.back());
      const auto width = static_cast<int64_t>(type.concat.size()) * place.channels;
      place.channels_before_last = std::exchange(place.channels_last, width);
    }
    register_module("cells", list);
    classifier = register_module("classifier", nn::Linear(place.channels_last, classes));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto last = stem->forward(x);
    auto before_last = last;
    for (const auto& cell : cells) before_last = std::exchange(last, cell->forward(before_last, last));
    return classifier(torch::adaptive_avg_pool2d(last, {1, 1}).flatten(1));
  }
  nn::Sequential stem{nullptr};
  std::vector<std::shared_ptr<Cell>> cells;
  nn::Linear classifier{nullptr};
};

}  // namespace

std::unique_ptr<Network> make_nasnet(int64_t classes) {
  return make_classifier<CellNetwork>(nasnet_genotype(), classes);
}

std::unique_ptr<Network> make_amoebanet(int64_t classes) {
  return make_classifier<CellNetwork>(amoebanet_genotype(), classes);
}

std::unique_ptr<Network> make_darts(int64_t classes) { return make_classifier<CellNetwork>(darts_genotype(), classes); }

}  // namespace reforward::models
