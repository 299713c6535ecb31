#include <gtest/gtest.h>

#include <limits>

#include "plan/assemble.h"
#include "plan/judge.h"
#include "plan/random_trace.h"
#include "reforward/error.h"
#include "reforward/planner.h"

namespace reforward {
namespace {

using made_up::Random;

std::vector<std::size_t> free_values(const Trace& trace) {
  const TraceIndex index(trace);
  std::vector<std::size_t> free;
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    if (index.can_keep[v] != 0 && index.must_keep[v] == 0) free.push_back(v);
  }
  return free;
}

/// Every way to give the free values one of `choices`, assembled, and judged by the slow judge.
std::vector<judge::Verdict> every_plan(const Trace& trace, const std::vector<uint8_t>& choices) {
  const TraceIndex index(trace);
  Assembler assembler(index);
  const auto free = free_values(trace);
  std::size_t count = 1;
  for (std::size_t i = 0; i < free.size(); ++i) count *= choices.size();
  std::vector<judge::Verdict> all;
  for (std::size_t number = 0; number < count; ++number) {
    Levels levels(trace.values.size(), leaf);
    std::size_t rest = number;
    for (const std::size_t v : free) {
      levels[v] = choices[rest % choices.size()];
      rest /= choices.size();
    }
    all.push_back(judge::judge(trace, assembler.assemble(levels)));
  }
  return all;
}

/// A trace with few enough values to try everything.
Trace small_trace(uint64_t seed, std::size_t most_free) {
  Random random(seed);
  for (;;) {
    const Trace trace = made_up::random_plain_trace(random, most_free / 2 + made_up::below(random, most_free / 2 + 2));
    if (trace.saved.size() >= 3 && free_values(trace).size() <= most_free) return trace;
  }
}

int64_t least_peak(const std::vector<judge::Verdict>& all) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const auto& verdict : all) {
    EXPECT_TRUE(verdict.sound) << verdict.why;
    best = std::min(best, verdict.peak_bytes);
  }
  return best;
}

/// The least budget that can be met; `minimal` may take 1 % more to save time.
int64_t least_found(const Trace& trace) {
  try {
    plan_budget(trace, {});
  } catch (const BudgetError& error) {
    EXPECT_LE(error.least_bytes, plan_minimal(trace).predicted_peak_bytes);
    EXPECT_GE(static_cast<double>(error.least_bytes) * 1.01,
              static_cast<double>(plan_minimal(trace).predicted_peak_bytes));
    return error.least_bytes;
  }
  return 0;
}

/// How far the solvers are from the best of a family, over many traces.
struct Distance {
  double worst = 0;
  int exact = 0, better = 0;
  void add(int64_t found, int64_t best) {
    const double ratio = static_cast<double>(found) / static_cast<double>(best);
    worst = std::max(worst, ratio);
    exact += found == best ? 1 : 0;
    better += found < best ? 1 : 0;
  }
};

// These traces have sizes and base bytes at random, which is harder than
// networks are: neighbours have nothing in common.

TEST(BruteForce, TheLeastPeakIsAsLowAsTheBestFlatPlanOrNearly) {
  Distance distance;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Trace trace = small_trace(seed, 10);
    distance.add(least_found(trace), least_peak(every_plan(trace, {0, leaf})));
  }
  RecordProperty("exact", distance.exact);
  RecordProperty("worst_percent", static_cast<int>(distance.worst * 100));
  EXPECT_GE(distance.exact + distance.better, 99);
  EXPECT_LE(distance.worst, 1.02);
}

TEST(BruteForce, TheLeastPeakIsAsLowAsTheBestNestedPlanOrNearly) {
  Distance distance;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Trace trace = small_trace(seed, 7);
    distance.add(least_found(trace), least_peak(every_plan(trace, {0, 1, leaf})));
  }
  RecordProperty("exact", distance.exact);
  RecordProperty("worst_percent", static_cast<int>(distance.worst * 100));
  EXPECT_EQ(distance.better, 0) << "better than everything there is: the brute force or simulate is wrong";
  EXPECT_GE(distance.exact, 58);
  EXPECT_LE(distance.worst, 1.02);
}

TEST(BruteForce, BudgetIsAsFastAsTheBestFlatPlanOrNearly) {
  double ours = 0, theirs = 0;
  int exact = 0, cases = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Trace trace = small_trace(seed, 10);
    const auto all = every_plan(trace, {0, leaf});
    const int64_t plain = plan_keep(trace).predicted_peak_bytes;
    const int64_t least = least_peak(all);
    for (int part = 1; part <= 4; ++part) {
      PlanOptions options;
      options.budget_bytes = std::max(least + (plain - least) * part / 4, plan_minimal(trace).predicted_peak_bytes);
      double best = std::numeric_limits<double>::infinity();
      for (const auto& verdict : all) {
        if (verdict.peak_bytes <= options.budget_bytes) best = std::min(best, verdict.recompute_seconds);
      }
      const double found = plan_budget(trace, options).recompute_seconds;
      ++cases;
      exact += found <= best ? 1 : 0;
      ours += found;
      theirs += best;
    }
  }
  RecordProperty("exact_percent", exact * 100 / cases);
  RecordProperty("time_percent", static_cast<int>(ours / theirs * 100));
  EXPECT_GE(exact, cases * 95 / 100);
  EXPECT_LE(ours, theirs * 1.01);
}

}  // namespace
}  // namespace reforward
