#include "plan/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/judge.h"
#include "plan/nets.h"
#include "plan/small.h"
#include "reforward/simulate.h"

namespace reforward {
namespace {

using made_up::Small;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<OpId> ops(std::initializer_list<int> numbers) {
  std::vector<OpId> made;
  for (const int n : numbers) made.emplace_back(static_cast<std::size_t>(n));
  return made;
}
std::vector<ValueId> values(std::initializer_list<int> numbers) {
  std::vector<ValueId> made;
  for (const int n : numbers) made.emplace_back(static_cast<std::size_t>(n));
  return made;
}

Plan assemble(const Trace& trace, const Levels& levels) {
  const TraceIndex index(trace);
  Plan plan = Assembler(index).assemble(levels);
  EXPECT_TRUE(judge::judge(trace, plan).sound) << judge::judge(trace, plan).why;
  return plan;
}

// chain(6, .): value v is made by op v - 1 and saved by op v; value 6 is not saved.

TEST(Assemble, OneCutMakesTwoReforwards) {
  const Trace trace = made_up::chain(6, 8);
  Levels levels(7, leaf);
  levels[3] = 0;
  const Plan plan = assemble(trace, levels);
  EXPECT_EQ(plan.keep, values({3}));
  ASSERT_THAT(plan.reforwards, SizeIs(2));
  EXPECT_EQ(plan.reforwards[0].ops, ops({3, 4}));
  EXPECT_EQ(plan.reforwards[0].keep, values({4, 5}));
  EXPECT_EQ(plan.reforwards[1].ops, ops({0, 1}));
  EXPECT_EQ(plan.reforwards[1].keep, values({1, 2}));
}

TEST(Assemble, WhatIsKeptButNotNeededIsLeftOut) {
  const Plan plan = assemble(made_up::chain(6, 8), Levels(7, 0));
  EXPECT_EQ(plan.keep, values({1, 2, 3, 4, 5}));
  EXPECT_THAT(plan.reforwards, IsEmpty());
}

TEST(Assemble, NestsAndMergesWhatRunsAtTheSameEvent) {
  const Trace trace = made_up::chain(6, 8);
  Levels levels(7, leaf);
  levels[3] = 1;
  // To 3 and on to 5 in one go, because both are due at the first unpack; then 1 and 2, while 3 is there.
  const Plan plan = assemble(trace, levels);
  EXPECT_THAT(plan.keep, IsEmpty());
  ASSERT_THAT(plan.reforwards, SizeIs(2));
  EXPECT_EQ(plan.reforwards[0].ops, ops({0, 1, 2, 3, 4}));
  EXPECT_THAT(plan.reforwards[0].keep, testing::UnorderedElementsAre(ValueId(3), ValueId(4), ValueId(5)));
  EXPECT_EQ(plan.reforwards[1].ops, ops({0, 1}));
}

TEST(Assemble, ThreeLevelsGoFromTheOuterToTheInner) {
  const Trace trace = made_up::chain(8, 8);
  Levels levels(9, leaf);
  levels[2] = 2;
  levels[4] = 1;
  const Plan plan = assemble(trace, levels);
  ASSERT_THAT(plan.reforwards, SizeIs(3));
  EXPECT_EQ(plan.reforwards[0].ops, ops({0, 1, 2, 3, 4, 5, 6}));  // keeps 4; uses 5, 6, 7
  EXPECT_EQ(plan.reforwards[1].ops, ops({0, 1, 2}));              // keeps 2; uses 3
  EXPECT_EQ(plan.reforwards[2].ops, ops({0}));
}

TEST(Assemble, WhatDoesNotHangTogetherRunsApart) {
  // Convolutions (big, kept) and what follows each (dropped): one re-forward each, last first.
  Small net;
  auto x = net.external();
  for (int i = 0; i < 3; ++i) {
    const auto conv = net.op({x}, 8);
    if (i > 0) net.save(x);
    x = net.op({conv}, 8);
    net.save(conv);
  }
  net.op({x}, 8);
  net.save(x);
  Levels levels(8, leaf);
  levels[1] = levels[3] = levels[5] = 0;
  const Plan plan = assemble(net.finish(), levels);
  EXPECT_EQ(plan.keep, values({1, 3, 5}));
  ASSERT_THAT(plan.reforwards, SizeIs(3));
  EXPECT_EQ(plan.reforwards[0].ops, ops({5}));
  EXPECT_EQ(plan.reforwards[1].ops, ops({3}));
  EXPECT_EQ(plan.reforwards[2].ops, ops({1}));
}

TEST(Assemble, AValueNeededFromOutsideIsKept) {
  // skip is not saved by anybody, but the sum is saved and must be made from it.
  Small net;
  const auto x = net.external();
  const auto skip = net.op({x}, 8);
  const auto y = net.op({skip}, 8);
  const auto sum = net.op({y, skip}, 8);
  net.op({sum}, 8);
  net.save(sum);
  Levels levels(5, leaf);
  levels[skip.at()] = levels[y.at()] = 0;
  const Plan plan = assemble(net.finish(), levels);
  EXPECT_EQ(plan.keep, (std::vector<ValueId>{skip, y}));
  ASSERT_THAT(plan.reforwards, SizeIs(1));
  EXPECT_EQ(plan.reforwards[0].ops, ops({2}));
}

TEST(Assemble, WhatIsOverwrittenIsMadeAgainWithItsMaker) {
  Small net;
  const auto x = net.external();
  const auto conv = net.op({x}, 8);
  const auto relu = net.in_place(conv);
  net.op({relu}, 8);
  net.save(relu);
  const Plan plan = assemble(net.finish(), Levels(4, leaf));
  ASSERT_THAT(plan.reforwards, SizeIs(1));
  EXPECT_EQ(plan.reforwards[0].ops, ops({0, 1}));
  EXPECT_EQ(plan.reforwards[0].keep, (std::vector<ValueId>{relu}));
  // Asking to keep it is asking for what cannot be.
  Levels levels(4, leaf);
  levels[conv.at()] = 0;
  EXPECT_THAT(assemble(net.trace, levels).keep, IsEmpty());
}

TEST(Assemble, OutputsOfPinnedOpsAreKept) {
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 8);
  net.last().pinned = true;
  const auto b = net.op({a}, 8);
  net.op({b}, 8);
  net.save(b);
  const Plan plan = assemble(net.finish(), Levels(4, leaf));
  EXPECT_THAT(plan.keep, ElementsAre(a));
  EXPECT_EQ(plan.reforwards.at(0).ops, ops({1}));
}

TEST(Assemble, PinningSpreadsThroughWhatIsOverwritten) {
  // a can be neither kept (b overwrites it) nor made again (pinned): so the op
  // that reads it cannot run again either, and c must be kept. So must b.
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 8);
  net.last().pinned = true;
  const auto c = net.op({a}, 8);
  net.save(c);
  const auto b = net.in_place(a);
  net.save(b);
  EXPECT_THAT(assemble(net.finish(), Levels(4, leaf)).keep, ElementsAre(c, b));
}

TEST(Assemble, WritesToExternalsAreNeverRepeated) {
  Small net;
  const auto x = net.external(8);
  const auto y = net.in_place(x);
  const auto z = net.op({y}, 8);
  net.op({z}, 8);
  net.save(z);
  const Plan plan = assemble(net.finish(), Levels(4, leaf));
  EXPECT_THAT(plan.keep, ElementsAre(y));
  EXPECT_EQ(plan.reforwards.at(0).ops, ops({1}));
  // y lives in the external's buffer: keeping it costs nothing.
  EXPECT_EQ(evaluate(net.trace, plan).peak_bytes, 16);
}

TEST(Assemble, WhatIsAliveInBackwardAnywayIsKept) {
  Trace trace = made_up::chain(6, 8);
  trace.values[2].dies = Value::never;
  const Plan plan = assemble(trace, Levels(7, leaf));
  EXPECT_EQ(plan.keep, values({2}));
}

}  // namespace
}  // namespace reforward
