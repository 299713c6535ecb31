// The networks against torchvision's: the same layers under the same names, and
// with the same parameters the same loss and gradients. The numbers are what
// well_known.py prints.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "models/models.h"

namespace reforward::models {
namespace {

struct WellKnown {
  std::string model;
  std::vector<int64_t> shape;  ///< of the batch
  uint64_t layers;             ///< digest of the names and sizes of all parameters and buffers
  double loss;                 ///< in training, dropout on
  double gradient_norm;
};

std::string layers(const torch::nn::Module& module) {
  std::vector<std::string> lines;
  const auto add = [&](const auto& tensors) {
    for (const auto& tensor : tensors) {
      std::ostringstream line;
      line << tensor.key() << ' ' << tensor.value().sizes() << '\n';
      lines.push_back(line.str());
    }
  };
  add(module.named_parameters());
  add(module.named_buffers());
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const auto& line : lines) text += line;
  return text;
}

uint64_t fnv1a(const std::string& text) {
  uint64_t value = 0xcbf29ce484222325;
  for (const char byte : text) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return value;
}

/// As `draw` of well_known.py.
void draw(const torch::nn::Module& module) {
  torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  auto parameters = module.named_parameters().pairs();
  std::sort(parameters.begin(), parameters.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [name, parameter] : parameters) {
    if (parameter.dim() > 1) {
      parameter.normal_(0, std::sqrt(2.0 / static_cast<double>(parameter[0].numel())));
    } else {
      parameter.normal_(name.ends_with("weight") ? 1.0 : 0.0, 0.1);
    }
  }
}

class WellKnownNetwork : public ::testing::TestWithParam<WellKnown> {};

TEST_P(WellKnownNetwork, HasTheLayersTheLossAndTheGradients) {
  const auto& known = GetParam();
  torch::manual_seed(0);
  const auto network = make(known.model);
  auto& module = network->module();

  const auto text = layers(module);
  EXPECT_EQ(fnv1a(text), known.layers) << "compare with `python tests/models/well_known.py " << known.model << "`:\n"
                                       << text;
  int64_t parameters = 0;
  for (const auto& parameter : module.parameters()) parameters += parameter.numel();
  EXPECT_EQ(parameters, info(known.model).parameters);

  draw(module);
  torch::manual_seed(2);
  const auto data = torch::randn(known.shape);
  const auto loss = network->loss(data, torch::tensor({3, 7}));
  loss.backward();
  double squares = 0;
  for (const auto& parameter : module.named_parameters()) {
    const auto& gradient = parameter.value().grad();
    ASSERT_TRUE(gradient.defined()) << parameter.key();
    const auto square = gradient.to(torch::kDouble).square().sum().item<double>();
    EXPECT_GT(square, 0) << parameter.key();
    squares += square;
  }
  // Other kernels round otherwise, and batch norm over few values makes much of it:
  // without vector instructions the losses are off by 4e-6, the gradients by 1.3e-3.
  EXPECT_NEAR(loss.item<double>(), known.loss, 1e-4 * known.loss);
  EXPECT_NEAR(std::sqrt(squares), known.gradient_norm, 1e-2 * known.gradient_norm);
}

INSTANTIATE_TEST_SUITE_P(
    Torchvision, WellKnownNetwork,
    ::testing::Values(WellKnown{"alexnet", {2, 3, 63, 63}, 0x8aef27c5a301d050, 25.371, 770.338},
                      WellKnown{"vgg16", {2, 3, 32, 32}, 0xc28928e39d007d16, 6.77681, 297.631},
                      WellKnown{"vgg16_bn", {2, 3, 32, 32}, 0xefaeff4895642f0e, 11.1696, 774.25},
                      WellKnown{"resnet18", {2, 3, 64, 64}, 0x6ea2f393dbdf6cf4, 7.62725, 104.553},
                      WellKnown{"resnet50", {2, 3, 64, 64}, 0x3daba3a4e389aa02, 8.8997, 2640.64},
                      WellKnown{"densenet121", {2, 3, 64, 64}, 0xf63c1578ce0f9c58, 7.32953, 175.943},
                      WellKnown{"inception_v3", {2, 3, 299, 299}, 0xb8d1e9f0cc3437ae, 10.1503, 1373.01},
                      WellKnown{"r3d18", {2, 3, 8, 32, 32}, 0xe4e42ccfa3afa7a3, 6.09918, 194.016}),
    [](const auto& test) { return test.param.model; });

}  // namespace
}  // namespace reforward::models
