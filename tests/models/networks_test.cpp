// What holds for every network, as it trains: dropout and in-place ReLUs where
// the definition has them, the same parameters for the same seed, and sizes that
// the registry tells the truth about. Families that differ in depth alone are not here
// in full; well_known_test.cpp has the layers of all.

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/models.h"

namespace reforward::models {
namespace {

struct Expected {
  std::string model;
  int64_t relus;     ///< in place
  int64_t dropouts;  ///< random draws of a forward pass
  int64_t batch_norms;
  int64_t kept_relus = 0;  ///< not in place
};

/// How often each operator was called on this thread.
class OperatorCount {
 public:
  OperatorCount() {
    calls().clear();
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
          ++calls()[call.name()];
          return nullptr;
        }).scopes({at::RecordScope::FUNCTION}));
  }
  ~OperatorCount() { at::removeCallback(handle_); }
  OperatorCount(const OperatorCount&) = delete;
  OperatorCount& operator=(const OperatorCount&) = delete;
  int64_t operator[](const std::string& name) const {
    const auto found = calls().find(name);
    return found == calls().end() ? 0 : found->second;
  }

 private:
  static std::map<std::string, int64_t>& calls() {
    static std::map<std::string, int64_t> count;
    return count;
  }
  at::CallbackHandle handle_;
};

std::vector<double> sums(const torch::nn::Module& module) {
  std::vector<double> all;
  for (const auto& parameter : module.parameters()) all.push_back(parameter.sum(torch::kDouble).item<double>());
  return all;
}

class EveryNetwork : public ::testing::TestWithParam<Expected> {
 protected:
  /// A small batch that the layers can take.
  Options small() const { return {.image = std::max<int64_t>(info(GetParam().model).least_image, 16), .batch = 2}; }
};

TEST_P(EveryNetwork, HasItsReLUsDropoutsAndNorms) {
  const auto& expected = GetParam();
  torch::manual_seed(3);
  const auto network = make(expected.model, small());
  const auto [data, target] = synthetic_batch(expected.model, 2, small(), 4);

  EXPECT_EQ(network->module().named_buffers().size(), 3 * expected.batch_norms);
  ASSERT_TRUE(network->module().is_training());
  double once = 0;
  {
    const OperatorCount count;
    once = network->loss(data, target).item<double>();
    EXPECT_EQ(count["aten::relu_"], expected.relus);
    EXPECT_EQ(count["aten::relu"], expected.kept_relus);
    EXPECT_EQ(count["aten::bernoulli_"], expected.dropouts);
  }
  const auto twice = network->loss(data, target).item<double>();
  EXPECT_EQ(once != twice, expected.dropouts > 0);

  network->module().eval();
  const torch::NoGradGuard no_grad;
  const OperatorCount count;
  EXPECT_EQ(network->loss(data, target).item<double>(), network->loss(data, target).item<double>());
  EXPECT_EQ(count["aten::bernoulli_"], 0);
}

TEST_P(EveryNetwork, HasTheSameParametersForTheSameSeed) {
  const auto& model = GetParam().model;
  std::vector<std::vector<double>> made;
  for (int i = 0; i < 2; ++i) {
    torch::manual_seed(5);
    made.push_back(sums(make(model, small())->module()));
  }
  EXPECT_EQ(made[0], made[1]);
}

/// The layers themselves are asked, not `make`, which would refuse.
TEST_P(EveryNetwork, TakesTheLeastImageAndNothingSmaller) {
  const auto& model = info(GetParam().model);
  const auto network = make(model.name, {.classes = 5, .image = model.default_image});
  const auto takes = [&](int64_t batch, int64_t image) {
    auto data = torch::randn({batch, 3, image, image});
    if (model.input == Input::clip) data = torch::randn({batch, 3, 8, image, image});
    if (model.input == Input::tokens) data = torch::ones({batch, image}, torch::kLong);
    const auto target = model.input == Input::tokens ? data : torch::full({batch}, 4);
    try {
      network->loss(data, target);
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  };
  EXPECT_TRUE(takes(2, model.least_image));
  EXPECT_TRUE(takes(1, model.least_image_alone));
  if (model.least_image > 1) {
    EXPECT_FALSE(takes(2, model.least_image - 1));
  }
  if (model.least_image_alone > 1) {
    EXPECT_FALSE(takes(1, model.least_image_alone - 1));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryNetwork,
                         ::testing::Values(Expected{"alexnet", 7, 2, 0}, Expected{"vgg16", 15, 2, 0},
                                           Expected{"vgg16_bn", 15, 2, 13}, Expected{"resnet18", 17, 0, 20},
                                           Expected{"resnet50", 49, 0, 53}, Expected{"densenet121", 121, 0, 121},
                                           Expected{"inception_v3", 96, 1, 96},
                                           // A norm after each ReLU, and one in the stem.
                                           Expected{"nasnet", 0, 0, 241, 240}, Expected{"amoebanet", 0, 0, 203, 202},
                                           Expected{"darts", 0, 0, 239, 238},
                                           // After the embeddings; in each layer of its attention and of both sums.
                                           Expected{"gpt", 0, 1 + 3 * 12, 0}, Expected{"gpt_tiny", 0, 1 + 3 * 12, 0},
                                           Expected{"r3d18", 17, 0, 20}),
                         [](const auto& test) { return test.param.model; });

}  // namespace
}  // namespace reforward::models
