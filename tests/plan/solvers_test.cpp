#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "plan/judge.h"
#include "plan/nets.h"
#include "plan/random_trace.h"
#include "plan/small.h"
#include "reforward/error.h"
#include "reforward/planner.h"

namespace reforward {
namespace {

using made_up::Random;

bool same(const Plan& a, const Plan& b) {
  if (a.keep != b.keep || a.reforwards.size() != b.reforwards.size()) return false;
  for (std::size_t i = 0; i < a.reforwards.size(); ++i) {
    if (a.reforwards[i].ops != b.reforwards[i].ops || a.reforwards[i].keep != b.reforwards[i].keep) return false;
  }
  return a.predicted_peak_bytes == b.predicted_peak_bytes && a.recompute_seconds == b.recompute_seconds;
}

/// What a plan says of itself is what the judge says.
void expect_honest(const Trace& trace, const Plan& plan) {
  const auto verdict = judge::judge(trace, plan);
  ASSERT_TRUE(verdict.sound) << plan.solver << ": " << verdict.why;
  EXPECT_EQ(plan.predicted_peak_bytes, verdict.peak_bytes) << plan.solver;
  EXPECT_EQ(plan.recompute_seconds, verdict.recompute_seconds) << plan.solver;
  EXPECT_EQ(plan.trace_fingerprint, fingerprint(trace)) << plan.solver;
}

Plan plan_within(const Trace& trace, int64_t budget) {
  PlanOptions options;
  options.budget_bytes = budget;
  return plan_budget(trace, options);
}

/// Everything that is promised of solvers, on one trace.
void expect_promises(const Trace& trace) {
  const Plan keep = plan_keep(trace);
  const Plan root = plan_sqrt(trace);
  const Plan minimal = plan_minimal(trace);
  for (const Plan* plan : {&keep, &root, &minimal}) expect_honest(trace, *plan);
  EXPECT_TRUE(same(minimal, plan_minimal(trace)));

  int64_t least = 0;
  try {
    plan_within(trace, 0);
    least = keep.predicted_peak_bytes;
    EXPECT_EQ(least, 0);
  } catch (const BudgetError& error) {
    least = error.least_bytes;
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(least) + " bytes"));
  }
  EXPECT_GE(least, floor_bytes(trace));
  EXPECT_LE(least, minimal.predicted_peak_bytes);
  EXPECT_LE(least, root.predicted_peak_bytes);
  EXPECT_LE(least, keep.predicted_peak_bytes);
  if (least > 0) {
    EXPECT_THROW(plan_within(trace, least - 1), BudgetError);
  }

  double seconds_before = std::numeric_limits<double>::infinity();
  constexpr int64_t steps = 4;
  for (int64_t i = 0; i <= steps; ++i) {
    const int64_t budget = least + (keep.predicted_peak_bytes - least) * i / steps;
    const Plan plan = plan_within(trace, budget);
    expect_honest(trace, plan);
    EXPECT_LE(plan.predicted_peak_bytes, budget);
    EXPECT_LE(plan.recompute_seconds, seconds_before);
    EXPECT_EQ(plan.budget_bytes, budget);
    seconds_before = plan.recompute_seconds;
    if (i == steps / 2) {
      EXPECT_TRUE(same(plan, plan_within(trace, budget)));
    }
  }
  EXPECT_LE(seconds_before, keep.recompute_seconds);
}

TEST(Solvers, KeepTheirPromisesOnNetworks) {
  const std::vector<std::pair<const char*, std::function<Trace()>>> nets{
      {"resnet", [] { return made_up::resnet50(2, 64); }},
      {"densenet", [] { return made_up::densenet121(1, 32); }},
      {"inception", [] { return made_up::inception_like(1, 75); }},
      {"decoder", [] { return made_up::decoder(2, 16, 32, 3); }},
      {"chain", [] { return made_up::chain(40, 1000); }}};
  for (const auto& [name, make] : nets) {
    SCOPED_TRACE(name);
    expect_promises(make());
  }
}

TEST(Solvers, KeepTheirPromisesOnRandomTraces) {
  int usable = 0;
  for (uint64_t seed = 0; seed < 24 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Trace trace = made_up::random_trace(random, 25);
    if (!judge::judge(trace, made_up::random_sound_plan(random, trace)).sound) continue;
    expect_promises(trace);
    ++usable;
  }
  EXPECT_GT(usable, 18);
}

TEST(Solvers, KeepIsThePlainStep) {
  // A chain of n values of b bytes: the input and n values are there when the
  // last op is done; later every gradient takes the place of a value.
  const Plan chain = plan_keep(made_up::chain(9, 1000));
  EXPECT_EQ(chain.predicted_peak_bytes, 10 * 1000);
  EXPECT_THAT(chain.reforwards, testing::IsEmpty());
  // What is saved and released but never unpacked is there in the plain step too.
  made_up::Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 100);
  net.op({a}, 1);
  net.save(a);
  net.op({x}, 50);
  Trace trace = net.finish();
  std::erase_if(trace.backward, [](const BackwardEvent& e) { return e.kind == BackwardEvent::Kind::unpack; });
  EXPECT_THAT(plan_keep(trace).keep, testing::ElementsAre(a));
  EXPECT_EQ(plan_keep(trace).predicted_peak_bytes, 150);
  EXPECT_EQ(plan_minimal(trace).predicted_peak_bytes, 101);
}

TEST(Solvers, SqrtCutsAChainAsChenEtAlDo) {
  // 16 layers: 4 segments of 4. Kept are 3 frontiers; a segment brings its 3 other values back.
  const Plan plan = plan_sqrt(made_up::chain(16, 1000));
  EXPECT_THAT(plan.keep, testing::ElementsAre(ValueId(4), ValueId(8), ValueId(12)));
  ASSERT_THAT(plan.reforwards, testing::SizeIs(4));
  for (const Reforward& run : plan.reforwards) EXPECT_THAT(run.keep, testing::SizeIs(3));
}

/// Bytes of activations under a plan, as a part of the plain step's.
double activations(const Trace& trace, const Plan& plan) {
  const int64_t fixed = trace.static_bytes + trace.gradient_bytes;
  return static_cast<double>(plan.predicted_peak_bytes - fixed) /
         static_cast<double>(plan_keep(trace).predicted_peak_bytes - fixed);
}

double forwards(const Trace& trace, const Plan& plan) { return plan.recompute_seconds / trace.forward_seconds; }

TEST(Solvers, MinimalIsSmallOnLargeNetworks) {
  const Trace resnet = made_up::resnet50(16, 224), densenet = made_up::densenet121(16, 224),
              inception = made_up::inception_like(8, 299);
  for (const auto& [trace, most] :
       {std::pair(&resnet, 0.21), std::pair(&densenet, 0.13), std::pair(&inception, 0.26)}) {
    const Plan plan = plan_minimal(*trace);
    EXPECT_LE(activations(*trace, plan), most);
    EXPECT_LE(forwards(*trace, plan), 1.3);
  }
}

TEST(Solvers, HalfTheMemoryCostsLittle) {
  const Trace resnet = made_up::resnet50(16, 224);
  EXPECT_LE(forwards(resnet, plan_within(resnet, plan_keep(resnet).predicted_peak_bytes / 2)), 0.28);
  const Trace chain = made_up::chain(100, 1'000'000);
  EXPECT_LE(forwards(chain, plan_within(chain, plan_keep(chain).predicted_peak_bytes / 2)), 0.52);
}

TEST(Solvers, NestWhereMemoryIsShort) {
  // A long chain in 3 % of its memory: flat plans need 2 * sqrt(400) / 400 = 10 %.
  const Trace trace = made_up::chain(400, 1'000'000);
  const Plan plan = plan_minimal(trace);
  EXPECT_LE(activations(trace, plan), 0.04);
  EXPECT_LE(forwards(trace, plan), 2.5);
}

TEST(Solvers, AreFoundByName) {
  const Trace trace = made_up::chain(10, 1000);
  PlanOptions options;
  options.budget_bytes = plan_keep(trace).predicted_peak_bytes;
  for (const std::string& name : solver_names()) EXPECT_EQ(make_plan(trace, name, options).solver, name);
  EXPECT_TRUE(same(make_plan(trace, "minimal", {}), plan_minimal(trace)));
  try {
    make_plan(trace, "best", options);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "There is no solver named 'best'; choose one of budget, minimal, sqrt, keep");
  }
}

TEST(Solvers, TakeStepsWithNothingToDecide) {
  Trace nothing;
  nothing.static_bytes = 100;
  nothing.backward = {{BackwardEvent::Kind::begin, {}, 0, 0}, {BackwardEvent::Kind::end, {}, 0, 0}};
  for (const std::string& name : solver_names()) {
    PlanOptions options;
    options.budget_bytes = 100;
    const Plan plan = make_plan(nothing, name, options);
    EXPECT_THAT(plan.keep, testing::IsEmpty()) << name;
    EXPECT_EQ(plan.predicted_peak_bytes, 100) << name;
  }
  EXPECT_THROW(plan_within(nothing, 99), BudgetError);
  expect_promises(made_up::chain(1, 8));
  expect_promises(made_up::chain(2, 8));
}

}  // namespace
}  // namespace reforward
