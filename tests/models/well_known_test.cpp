// The networks against those that were published, torchvision's and the DARTS
// authors': the same layers under the same names, and with the same parameters the
// same loss and gradients. The numbers are what well_known.py prints.

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
  int64_t parameters;
  uint64_t layers;  ///< digest of the names and sizes of all parameters and buffers
  /// Of the batch. Empty: the layers alone are compared, where others of the family
  /// show that these compute the right thing.
  std::vector<int64_t> shape;
  double loss = 0;  ///< in training, dropout on
  double gradient_norm = 0;
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
  EXPECT_EQ(parameters, known.parameters);
  EXPECT_EQ(info(known.model).parameters, known.parameters);
  if (known.shape.empty()) return;

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
    Published, WellKnownNetwork,
    ::testing::Values(WellKnown{"alexnet", 61100840, 0x8aef27c5a301d050, {2, 3, 63, 63}, 25.371, 770.338},
                      WellKnown{"vgg11", 132863336, 0x288d104ae091ee95, {}},
                      WellKnown{"vgg13", 133047848, 0x202f819ed780229c, {}},
                      WellKnown{"vgg16", 138357544, 0xc28928e39d007d16, {2, 3, 32, 32}, 6.77681, 297.631},
                      WellKnown{"vgg16_bn", 138365992, 0xefaeff4895642f0e, {2, 3, 32, 32}, 11.1696, 774.25},
                      WellKnown{"vgg19", 143667240, 0x36d33bf295df503e, {}},
                      WellKnown{"resnet18", 11689512, 0x6ea2f393dbdf6cf4, {2, 3, 64, 64}, 7.62725, 104.553},
                      WellKnown{"resnet34", 21797672, 0x8c4205da3490ade6, {2, 3, 64, 64}, 8.18969, 318.625},
                      WellKnown{"resnet50", 25557032, 0x3daba3a4e389aa02, {2, 3, 64, 64}, 8.8997, 2640.64},
                      WellKnown{"resnet101", 44549160, 0xab7893c2f3cc6739, {}},
                      WellKnown{"resnet152", 60192808, 0x91c9b7037239e1aa, {}},
                      WellKnown{"densenet121", 7978856, 0xf63c1578ce0f9c58, {2, 3, 64, 64}, 7.32953, 175.943},
                      WellKnown{"densenet161", 28681000, 0xfa1175f4cb1d1475, {2, 3, 64, 64}, 7.65754, 267.844},
                      WellKnown{"densenet169", 14149480, 0xe110e4788c7d08f2, {}},
                      WellKnown{"densenet201", 20013928, 0xac1a9ed27d7501be, {}},
                      WellKnown{"inception_v3", 27161264, 0xb8d1e9f0cc3437ae, {2, 3, 299, 299}, 10.1503, 1373.01},
                      WellKnown{"nasnet", 3830950, 0x894ac4172f733447, {2, 3, 16, 16}, 2.62923, 1045.12},
                      WellKnown{"amoebanet", 3145078, 0x7d978edb62ce046b, {2, 3, 16, 16}, 1.60947, 760.803},
                      WellKnown{"darts", 3349342, 0x2e0fc4ff911a5716, {2, 3, 16, 16}, 1.98894, 3321.11},
                      WellKnown{"r3d18", 33371472, 0xe4e42ccfa3afa7a3, {2, 3, 8, 32, 32}, 6.09918, 194.016}),
    [](const auto& test) { return test.param.model; });

}  // namespace
}  // namespace reforward::models
