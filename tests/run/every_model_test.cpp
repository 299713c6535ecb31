// Every kind of network of models/, with both optimizers and every solver: the bits of
// plain training, within the budget, from the first step on.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <memory>

#include "models/models.h"
#include "run/equal_step.h"

namespace reforward::testing {
namespace {

struct Size {
  std::string model;
  int64_t batch;
  int64_t image;
  /// The optimizer to leave out, or "both", unless REFORWARD_ALL_MODELS is set:
  /// parameters by the hundred million take their time whatever the image.
  std::string long_with;
  /// The one solver to try unless that is set: so do plans for ops by the thousand.
  std::string solver{};
};

class EveryModel : public ::testing::TestWithParam<std::tuple<Size, std::string>> {
 protected:
  void SetUp() override {
    install_memory_meter();
    torch::manual_seed(11);
  }
};

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name, torch::nn::Module& module) {
  if (name == "sgd") {
    return std::make_unique<torch::optim::SGD>(module.parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  }
  return std::make_unique<torch::optim::AdamW>(module.parameters());
}

TEST_P(EveryModel, TrainsWithThePlainBits) {
  const auto& [size, optimizer_name] = GetParam();
  const bool all = std::getenv("REFORWARD_ALL_MODELS") != nullptr;
  if (!all && (size.long_with == optimizer_name || size.long_with == "both")) {
    GTEST_SKIP() << "takes long; set REFORWARD_ALL_MODELS=1 to run it";
  }
  const models::Options options{.image = size.image};
  const auto network = models::make(size.model, options);
  const auto optimizer = make_optimizer(optimizer_name, network->module());
  const std::shared_ptr<torch::nn::Module> borrowed(&network->module(), [](auto*) {});
  torch::Tensor target;
  Net net{size.model, borrowed, [&](const torch::Tensor& x) { return network->loss(x, target); }, {}};

  struct Try {
    std::string budget, solver;
  };
  uint64_t seed = 0;
  for (const Try& one :
       {Try{"min", "sqrt"}, Try{"min", "minimal"}, Try{"70%", "budget"}, Try{"50%", "budget"}, Try{"min", "budget"}}) {
    if (!all && !size.solver.empty() && size.solver != one.solver) continue;
    SCOPED_TRACE(one.solver + " " + one.budget);
    std::string budget = one.budget;
    for (int attempt = 0; attempt < 2; ++attempt) {
      auto session = make_session(budget, one.solver);
      try {
        for (int step = 0; step < 3; ++step) {
          const auto [data, wanted] = models::synthetic_batch(size.model, size.batch, options, ++seed);
          target = wanted;
          const auto report = expect_equal_step(net, session, data);
          EXPECT_EQ(report.kind, step == 0 ? StepReport::Kind::first : StepReport::Kind::planned);
          if (step > 0) {
            EXPECT_LE(report.measured_peak_bytes, report.budget_bytes);
            EXPECT_NEAR(static_cast<double>(report.predicted_peak_bytes),
                        static_cast<double>(report.measured_peak_bytes),
                        0.001 * static_cast<double>(report.measured_peak_bytes));
          }
          optimizer->step();
          optimizer->zero_grad();
        }
        break;
      } catch (const BudgetError& error) {
        // Parameters, gradients and optimizer state alone can be more than half
        // of a small step. The number that the refusal names must then do.
        ASSERT_EQ(attempt, 0) << error.what();
        optimizer->zero_grad();
        budget = std::to_string(error.least_bytes);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Small, EveryModel,
    ::testing::Combine(::testing::Values(Size{"alexnet", 2, 63, ""}, Size{"vgg16", 2, 32, "adamw"},
                                         Size{"vgg16_bn", 2, 32, "sgd"}, Size{"resnet18", 3, 48, ""},
                                         Size{"resnet50", 3, 48, ""}, Size{"densenet121", 3, 48, "sgd"},
                                         Size{"inception_v3", 2, 299, "adamw"}, Size{"nasnet", 2, 8, "both"},
                                         Size{"amoebanet", 2, 8, "both"}, Size{"darts", 2, 8, "adamw", "minimal"},
                                         Size{"gpt", 1, 32, "sgd"}, Size{"gpt_tiny", 2, 48, ""},
                                         Size{"r3d18", 2, 32, "adamw"}),
                       ::testing::Values("sgd", "adamw")),
    [](const auto& test) { return std::get<0>(test.param).model + "_" + std::get<1>(test.param); });

}  // namespace
}  // namespace reforward::testing
