#include "plan/nest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "plan/assemble.h"
#include "plan/judge.h"
#include "plan/nets.h"
#include "plan/small.h"

namespace reforward {
namespace {

constexpr std::size_t steps = 64;
constexpr int64_t unit = 4 * 1000;  // of a chain's value, so that nothing is rounded

struct Solved {
  const Trace trace;
  const TraceIndex index{trace};
  const Segments segments{index, possible_cuts(index)};
  const int64_t origin = *std::min_element(index.bare_live.begin(), index.bare_live.end());
  const NestSearch search{segments, origin, origin + static_cast<int64_t>(steps) * unit, steps};

  Plan plan(std::size_t amount) const {
    const Nest nest = search.best(amount);
    Levels levels = levels_of(index, nest.cuts);
    for (std::size_t v = 0; v < levels.size(); ++v) {
      if (trace.values[v].external()) continue;
      for (const auto& part : nest.parts) {
        const std::size_t maker = trace.values[v].maker.at();
        if (part.from <= maker && maker < part.to && segments.keeps(part.way, ValueId(v))) levels[v] = 0;
      }
    }
    return Assembler(index).assemble(levels);
  }
};

TEST(Nest, SaysOfAChainWhatTheJudgeSays) {
  for (const std::size_t ops : {3, 10, 33}) {
    const Solved solved{made_up::chain(ops, unit)};
    int possible = 0;
    for (std::size_t amount = 0; amount < solved.search.amounts(); ++amount) {
      if (solved.search.seconds(amount) == std::numeric_limits<float>::infinity()) continue;
      ++possible;
      const auto verdict = judge::judge(solved.trace, solved.plan(amount));
      ASSERT_TRUE(verdict.sound) << verdict.why;
      EXPECT_EQ(verdict.recompute_seconds, solved.search.seconds(amount)) << ops << " ops, amount " << amount;
      EXPECT_LE(verdict.peak_bytes, solved.origin + static_cast<int64_t>(amount) * unit / 4)
          << ops << " ops, amount " << amount;
    }
    EXPECT_GT(possible, 100);
  }
}

TEST(Nest, IsOptimalOnAChain) {
  // Against all ways to keep, nest twice, or drop each of 7 values.
  const Solved solved{made_up::chain(8, unit)};
  Assembler assembler(solved.index);
  std::vector<std::pair<int64_t, double>> all;
  const uint8_t choices[] = {0, 1, 2, leaf};
  for (std::size_t number = 0; number < std::size_t{1} << 14; ++number) {
    Levels levels(9, leaf);
    for (std::size_t v = 1; v <= 7; ++v) levels[v] = choices[number >> (2 * (v - 1)) & 3];
    const auto verdict = judge::judge(solved.trace, assembler.assemble(levels));
    all.emplace_back(verdict.peak_bytes, verdict.recompute_seconds);
  }
  int reached = 0;
  for (int64_t peak = solved.origin; peak <= solved.origin + 9 * unit; peak += unit) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [bytes, seconds] : all) {
      if (bytes <= peak) best = std::min(best, seconds);
    }
    const float found = solved.search.seconds(static_cast<std::size_t>((peak - solved.origin) / unit * 4));
    if (best < std::numeric_limits<double>::infinity()) {
      EXPECT_EQ(found, best) << peak / unit;
      ++reached;
    } else {
      EXPECT_TRUE(found > 9 || peak < 4 * unit) << "only deeper nests get to " << peak / unit;
    }
  }
  EXPECT_EQ(reached, 6);  // 4 to 9 values
}

TEST(Nest, MoreMemoryNeverTakesLonger) {
  for (const Trace& trace : {made_up::resnet50(2, 64), made_up::decoder(2, 16, 32, 2)}) {
    const TraceIndex index(trace);
    const Segments segments(index, thin_out(index, possible_cuts(index), 30));
    const NestSearch search(segments, 0, *std::max_element(index.bare_peak.begin(), index.bare_peak.end()) * 20, steps);
    for (std::size_t amount = 1; amount < search.amounts(); ++amount) {
      EXPECT_LE(search.seconds(amount), search.seconds(amount - 1));
    }
    EXPECT_EQ(search.seconds(search.amounts() - 1), 0);
  }
}

TEST(Segments, CountWhatCrosses) {
  // skip is read at both ends; conv is dear, norm is cheap.
  made_up::Small net;
  const auto x = net.external();
  const auto skip = net.op({x}, 10, 0, 1);
  const auto conv = net.op({skip}, 100, 0, 50);
  net.save(skip);
  const auto norm = net.op({conv}, 100, 0, 2);
  net.save(conv);
  const auto sum = net.op({norm, skip}, 20, 0, 1);
  net.save(norm);
  net.op({sum}, 0, 0, 1);
  net.save(sum);
  const Trace trace = net.finish();
  const TraceIndex index(trace);
  const Segments segments(index, possible_cuts(index));
  ASSERT_EQ(segments.count(), 6U);
  EXPECT_EQ(segments(0, 1).frontier_bytes, 10);
  EXPECT_EQ(segments(0, 2).frontier_bytes, 110);
  EXPECT_EQ(segments(1, 2).frontier_bytes, 100);  // skip belongs to the stretch before
  EXPECT_EQ(segments(0, 4).frontier_bytes, 20);
  // From x to the frontier of cut 4, which is sum: everything runs; conv and norm are the most at once, with skip.
  EXPECT_EQ(segments(0, 4).outer_seconds, 54);
  EXPECT_EQ(segments(0, 4).outer_peak, 210);
  // Keeping nothing between cuts 1 and 4 and sum being kept, conv and norm are made from skip.
  EXPECT_EQ(segments(1, 4).way[0].seconds, 52);
  EXPECT_EQ(segments(1, 4).way[0].keep_bytes, 0);
  EXPECT_EQ(segments(1, 4).way[0].peak, 200);  // conv and norm, in backward through sum
  // Keeping all of it.
  EXPECT_EQ(segments(1, 4).way.back().seconds, 0);
  EXPECT_EQ(segments(1, 4).way.back().keep_bytes, 200);
  // Some way in between keeps conv but not norm.
  EXPECT_THAT(segments(1, 4).way, testing::Contains(testing::Field(&Segments::Way::seconds, 2)));
}

}  // namespace
}  // namespace reforward
