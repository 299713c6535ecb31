#include <gtest/gtest.h>

#include "plan/judge.h"
#include "plan/random_trace.h"
#include "reforward/error.h"
#include "reforward/simulate.h"

namespace reforward {
namespace {

using made_up::Random;

/// simulate and the judge agree: on soundness, on the peak byte for byte, on the seconds.
void expect_agreement(const Trace& trace, const Plan& plan, int& sound) {
  const auto verdict = judge::judge(trace, plan);
  if (!verdict.sound) {
    EXPECT_THROW(simulate(trace, plan), FormatError) << verdict.why;
    EXPECT_THROW(evaluate(trace, plan), FormatError) << verdict.why;
    return;
  }
  ++sound;
  const Timeline line = simulate(trace, plan);
  EXPECT_EQ(line.peak_bytes, verdict.peak_bytes);
  EXPECT_EQ(line.recompute_seconds, verdict.recompute_seconds);
  const Cost cost = evaluate(trace, plan);
  EXPECT_EQ(cost.peak_bytes, line.peak_bytes);
  EXPECT_EQ(cost.recompute_seconds, line.recompute_seconds);
}

TEST(Simulate, AgreesWithTheJudgeOnAssembledPlans) {
  int sound = 0, all = 0;
  for (uint64_t seed = 0; seed < 4000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Trace trace = made_up::random_trace(random, 30);
    validate(trace);
    for (int i = 0; i < 3; ++i, ++all) expect_agreement(trace, made_up::random_sound_plan(random, trace), sound);
  }
  // Unsound are only traces in which a value that can be neither kept nor made again is unpacked.
  EXPECT_GT(sound, all * 95 / 100);
}

TEST(Simulate, AgreesWithTheJudgeOnDamagedPlans) {
  int sound = 0, all = 0;
  for (uint64_t seed = 0; seed < 4000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Trace trace = made_up::random_trace(random, 20);
    Plan plan = made_up::random_sound_plan(random, trace);
    for (int i = 0; i < 4; ++i, ++all) {
      made_up::damage(random, trace, plan);
      expect_agreement(trace, plan, sound);
    }
  }
  EXPECT_GT(sound, all / 10);
  EXPECT_LT(sound, all * 9 / 10);
}

}  // namespace
}  // namespace reforward
