#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "reforward/reforward.h"
#include "run/equal_step.h"

namespace reforward::testing {
namespace {

class EveryNet : public ::testing::TestWithParam<std::tuple<int, std::string, std::string>> {
 protected:
  void SetUp() override {
    install_memory_meter();
    torch::manual_seed(3);
  }
};

TEST_P(EveryNet, GivesThePlainStepsBitsWithinItsBudget) {
  auto nets = all_nets();
  auto& net = nets[static_cast<std::size_t>(std::get<0>(GetParam()))];
  auto session = make_session(std::get<2>(GetParam()), std::get<1>(GetParam()));
  torch::optim::AdamW optimizer(net.module->parameters());
  for (int i = 0; i < 4; ++i) {
    const auto batch = net.batch(4);
    const auto report = expect_equal_step(net, session, batch);
    EXPECT_EQ(report.kind, i == 0 ? StepReport::Kind::first : StepReport::Kind::planned);
    if (i >= 1) {
      EXPECT_LE(report.measured_peak_bytes, report.budget_bytes);
      // Exact, but for the scratch of a batch norm's running statistics (two
      // floats a channel), which a replay does without.
      EXPECT_LE(report.measured_peak_bytes, report.predicted_peak_bytes) << "step " << i;
      EXPECT_GE(report.measured_peak_bytes, report.predicted_peak_bytes - 256) << "step " << i;
    }
    optimizer.step();
    optimizer.zero_grad();
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryNet,
                         ::testing::Combine(::testing::Range(0, 3),
                                            ::testing::Values("keep", "sqrt", "minimal", "budget"),
                                            ::testing::Values("100%", "min")));
INSTANTIATE_TEST_SUITE_P(Tight, EveryNet,
                         ::testing::Combine(::testing::Range(0, 3), ::testing::Values("budget"),
                                            ::testing::Values("90%", "80%")));

}  // namespace
}  // namespace reforward::testing
