#include <gtest/gtest.h>

#include "plan/judge.h"
#include "plan/random_trace.h"
#include "reforward/error.h"
#include "reforward/planner.h"
#include "reforward/schedule.h"

namespace reforward {
namespace {

using made_up::Random;

bool accepted(const Trace& trace) {
  try {
    validate(trace);
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

/// simulate, compile_schedule and the judge say the same, whatever the plan is.
void expect_one_opinion(const Trace& trace, const Plan& plan) {
  const auto verdict = judge::judge(trace, plan);
  try {
    compile_schedule(trace, plan);
    const Cost cost = evaluate(trace, plan);
    EXPECT_TRUE(verdict.sound) << verdict.why;
    EXPECT_EQ(cost.peak_bytes, verdict.peak_bytes);
    EXPECT_GE(verdict.peak_bytes, floor_bytes(trace));
  } catch (const FormatError& error) {
    EXPECT_FALSE(verdict.sound) << error.what();
  }
}

/// A plan comes out and is sound, or a refusal of one of the kinds that planner.h names.
void expect_plan_or_refusal(const Trace& trace, const std::string& solver, int64_t budget) {
  PlanOptions options;
  options.budget_bytes = budget;
  try {
    const Plan plan = make_plan(trace, solver, options);
    const auto verdict = judge::judge(trace, plan);
    EXPECT_TRUE(verdict.sound) << solver << ": " << verdict.why;
    EXPECT_EQ(plan.predicted_peak_bytes, verdict.peak_bytes);
  } catch (const BudgetError& error) {
    EXPECT_GT(error.least_bytes, budget);
  } catch (const FormatError&) {
    // A saved value that can be neither kept nor made again: no plan can help.
    Random random(1);
    EXPECT_FALSE(judge::judge(trace, made_up::random_sound_plan(random, trace)).sound);
  }
}

TEST(Fuzz, DamagedTracesAndPlansAreJudgedOrRefused) {
  int valid = 0, damaged = 0;
  for (uint64_t seed = 0; seed < 4000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Trace trace = made_up::random_trace(random, 20);
    for (std::size_t n = 1 + made_up::below(random, 3); n > 0; --n) made_up::damage(random, trace);
    ++damaged;
    if (!accepted(trace)) continue;
    ++valid;
    Plan plan = made_up::random_sound_plan(random, trace);
    for (int i = 0; i < 3; ++i) {
      expect_one_opinion(trace, plan);
      made_up::damage(random, trace, plan);
    }
    if (valid % 20 == 0) {
      for (const std::string& solver : solver_names()) {
        expect_plan_or_refusal(trace, solver, static_cast<int64_t>(made_up::below(random, 1000)));
      }
    }
  }
  // Both ways are taken often enough to mean something.
  EXPECT_GT(valid, damaged / 20);
  EXPECT_LT(valid, damaged);
}

TEST(Fuzz, SolversTakeAnyValidTrace) {
  for (uint64_t seed = 10000; seed < 10080 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Trace trace = made_up::random_trace(random, 60);
    for (const std::string& solver : solver_names()) {
      expect_plan_or_refusal(trace, solver, static_cast<int64_t>(made_up::below(random, 2000)));
    }
  }
}

}  // namespace
}  // namespace reforward
