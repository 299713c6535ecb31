#include "plan/cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/nets.h"
#include "plan/random_trace.h"
#include "plan/small.h"

namespace reforward {
namespace {

using made_up::Random;
using made_up::Small;
using testing::ElementsAre;

std::vector<std::size_t> places(const std::vector<Cut>& cuts) {
  std::vector<std::size_t> made;
  for (const Cut& cut : cuts) made.push_back(cut.op);
  return made;
}

TEST(Cuts, OfAChainCostOneValueEach) {
  const Trace trace = made_up::chain(5, 8);
  const auto cuts = possible_cuts(TraceIndex(trace));
  EXPECT_THAT(places(cuts), ElementsAre(1, 2, 3, 4));
  for (const Cut& cut : cuts) EXPECT_EQ(cut.frontier_bytes, 8);
}

TEST(Cuts, PayForWhatCrossesThem) {
  Small net;
  const auto x = net.external(100);
  const auto skip = net.op({x}, 1);
  const auto y = net.op({skip}, 10);
  const auto sum = net.op({y, skip}, 1000);
  net.op({sum}, 5);
  const Trace trace = net.finish();
  const auto cuts = possible_cuts(TraceIndex(trace));
  ASSERT_THAT(places(cuts), ElementsAre(1, 2, 3));
  EXPECT_EQ(cuts[0].frontier_bytes, 1);
  EXPECT_EQ(cuts[1].frontier_bytes, 11);
  EXPECT_EQ(cuts[2].frontier_bytes, 1000);
}

TEST(Cuts, CannotPassBetweenAValueAndItsOverwriting) {
  Small net;
  const auto x = net.external();
  const auto conv = net.op({x}, 8);
  const auto norm = net.op({conv}, 8);
  const auto relu = net.in_place(norm);
  net.op({relu}, 8);
  const Trace trace = net.finish();
  EXPECT_THAT(places(possible_cuts(TraceIndex(trace))), ElementsAre(1, 3));
}

TEST(Cuts, AgreeWithCountingByHandOnRandomTraces) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Trace trace = made_up::random_plain_trace(random, 20);
    const TraceIndex index(trace);
    const auto cuts = possible_cuts(index);
    for (std::size_t i = 1; i < trace.ops.size(); ++i) {
      int64_t bytes = 0;
      bool possible = true;
      for (const Value& value : trace.values) {
        if (value.external() || value.maker >= OpId(i)) continue;
        const ValueId id(static_cast<std::size_t>(&value - trace.values.data()));
        bool crosses = false;
        for (std::size_t k = i; k < trace.ops.size(); ++k) {
          const auto& inputs = trace.ops[k].inputs;
          crosses = crosses || std::find(inputs.begin(), inputs.end(), id) != inputs.end();
        }
        possible = possible && !(crosses && value.overwritten);
        const bool alive_anyway = value.dies > static_cast<int32_t>(trace.ops.size());
        if (crosses && !alive_anyway) bytes += value.bytes;
      }
      const auto cut = std::find_if(cuts.begin(), cuts.end(), [&](const Cut& c) { return c.op == i; });
      ASSERT_EQ(cut != cuts.end(), possible) << "seed " << seed << " op " << i;
      if (possible) {
        ASSERT_EQ(cut->frontier_bytes, bytes) << "seed " << seed << " op " << i;
      }
    }
  }
}

TEST(Cuts, AreThinnedOutTowardsSmallFrontiers) {
  Small net;
  auto x = net.external();
  for (int i = 0; i < 40; ++i) x = net.op({x}, i % 2 == 0 ? 100 : 10);
  const Trace trace = net.finish();
  const TraceIndex index(trace);
  const auto all = possible_cuts(index);
  const auto some = thin_out(index, all, 10);
  EXPECT_LE(some.size(), 10U);
  EXPECT_GE(some.size(), 8U);
  for (const Cut& cut : some) {
    EXPECT_EQ(cut.frontier_bytes, 10);
    EXPECT_THAT(places(all), testing::Contains(cut.op));
  }
  EXPECT_EQ(thin_out(index, all, all.size()).size(), all.size());
}

TEST(Cuts, GiveEachValueTheLeastDepthItCrosses) {
  const Trace trace = made_up::chain(6, 8);
  const Levels levels = levels_of(TraceIndex(trace), {{2, 1}, {4, 0}});
  EXPECT_THAT(levels, ElementsAre(leaf, leaf, 1, leaf, 0, leaf, leaf));
  Small net;
  const auto skip = net.op({net.external()}, 1);
  const auto y = net.op({skip}, 1);
  net.op({y, skip}, 1);
  const Trace branch = net.finish();
  EXPECT_THAT(levels_of(TraceIndex(branch), {{1, 2}, {2, 1}}), ElementsAre(leaf, 1, 1, leaf));
}

TEST(Cuts, DivideBytesEqually) {
  const Trace trace = made_up::chain(16, 8);
  const Levels levels = equal_segments(TraceIndex(trace), 4);
  for (std::size_t v = 1; v <= 16; ++v) EXPECT_EQ(levels[v] == 0, v == 4 || v == 8 || v == 12) << v;
}

}  // namespace
}  // namespace reforward
