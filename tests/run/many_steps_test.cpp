// What must hold over many steps: nothing leaks, other shapes are planned for,
// and an impossible budget is refused with the number that is possible.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "run/equal_step.h"

namespace reforward::testing {
namespace {

class ManySteps : public ::testing::Test {
 protected:
  void SetUp() override {
    install_memory_meter();
    torch::manual_seed(9);
  }
};

TEST_F(ManySteps, NothingLeaks) {
  auto net = residual_net();
  auto session = make_session("min");
  const auto batch = net.batch(2);
  int64_t after_second = 0;
  for (int i = 0; i < 200; ++i) {
    session.step([&] { net.loss(batch).backward(); });
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
    if (i == 1) after_second = memory_use().live_bytes;
  }
  EXPECT_EQ(memory_use().live_bytes, after_second);
}

TEST_F(ManySteps, NothingLeaksWhenTheLossIsNeverBackpropagated) {
  auto net = residual_net();
  auto session = make_session("min");
  const auto batch = net.batch(2);
  int64_t after_second = 0;
  for (int i = 0; i < 100; ++i) {
    session.step([&] {
      auto loss = net.loss(batch);
      if (i % 3 == 0) loss.backward();
    });
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
    if (i == 2) after_second = memory_use().live_bytes;
  }
  EXPECT_EQ(memory_use().live_bytes, after_second);
}

TEST_F(ManySteps, ASmallerLastBatchIsTrainedAndPlanned) {
  auto net = residual_net();
  auto session = make_session("60%");
  const std::vector<int64_t> sizes{4, 4, 2, 4, 2, 4, 2};
  const std::vector<StepReport::Kind> kinds{
      StepReport::Kind::first,   StepReport::Kind::planned, StepReport::Kind::first,  StepReport::Kind::planned,
      StepReport::Kind::planned, StepReport::Kind::planned, StepReport::Kind::planned};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto report = expect_equal_step(net, session, net.batch(sizes[i]));
    EXPECT_EQ(report.kind, kinds[i]) << i;
    if (report.kind == StepReport::Kind::planned) {
      EXPECT_LE(report.measured_peak_bytes, report.budget_bytes) << i;
    }
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
  }
}

TEST_F(ManySteps, AnImpossibleBudgetIsRefusedWithAPossibleOne) {
  auto net = residual_net();
  const auto batch = net.batch(4);
  int64_t least = 0;
  {
    auto session = make_session("1KiB");
    State before(*net.module);
    net.loss(batch).backward();
    const auto plain = what_is_left(*net.module, "");
    before.restore();
    try {
      session.step([&] { net.loss(batch).backward(); });
      FAIL() << "a budget of 1 KiB was accepted";
    } catch (const BudgetError& error) {
      least = error.least_bytes;
      EXPECT_THAT(error.what(), ::testing::HasSubstr(std::to_string(least)));
    }
    EXPECT_TRUE(plain.parts == what_is_left(*net.module, "").parts) << "the refused step itself must be right";
    before.restore();
  }
  auto session = make_session(std::to_string(least));
  for (int i = 0; i < 3; ++i) {
    const auto report = expect_equal_step(net, session, batch);
    if (i > 0) {
      EXPECT_LE(report.measured_peak_bytes, least);
    }
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
  }
}

TEST_F(ManySteps, AStepInsideAStepIsRefusedAndBothSessionsGoOn) {
  auto net = residual_net();
  auto outer = make_session("min"), inner = make_session("min");
  const auto batch = net.batch(2);
  EXPECT_THROW(outer.step([&] { inner.step([&] { net.loss(batch).backward(); }); }), InputError);
  for (auto* session : {&outer, &inner, &outer, &inner}) {
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
    expect_equal_step(net, *session, batch);
  }
}

TEST_F(ManySteps, TheFirstStepNeedsLittleMoreThanTheLeast) {
  for (auto& net : all_nets()) {
    const auto batch = net.batch(16);
    auto session = make_session("min");
    int64_t plain_peak = 0;
    const int64_t before = memory_use().live_bytes;
    const auto first = expect_equal_step(net, session, batch, &plain_peak);
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
    const auto planned = expect_equal_step(net, session, batch);
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
    EXPECT_LE(static_cast<double>(first.measured_peak_bytes - before),
              1.25 * static_cast<double>(planned.measured_peak_bytes - before))
        << net.name;
    EXPECT_LT(first.measured_peak_bytes, plain_peak) << net.name;
  }
}

TEST_F(ManySteps, MoreBudgetNeverNeedsMoreRecomputation) {
  auto net = residual_net(6);
  const auto batch = net.batch(4);
  auto session = make_session("100%");
  session.step([&] { net.loss(batch).backward(); });
  const Trace trace = *session.trace();
  double seconds = 1e9;
  const int64_t least = plan_minimal(trace).predicted_peak_bytes;
  const int64_t plain = evaluate(trace, plan_keep(trace)).peak_bytes;
  for (int i = 0; i <= 20; ++i) {
    const Plan plan = plan_budget(trace, {.budget_bytes = least + (plain - least) * i / 20});
    EXPECT_LE(plan.recompute_seconds, seconds);
    seconds = plan.recompute_seconds;
  }
  EXPECT_EQ(seconds, 0);
}

}  // namespace
}  // namespace reforward::testing
