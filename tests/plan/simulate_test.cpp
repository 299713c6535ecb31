#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/judge.h"
#include "plan/random_trace.h"
#include "plan/small.h"
#include "reforward/error.h"
#include "reforward/simulate.h"

namespace reforward {
namespace {

using made_up::plan_of;
using made_up::Random;
using made_up::Small;
using Kind = Timeline::Point::Kind;

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

struct Row {
  Kind kind;
  int32_t index;
  int64_t live, peak;
};

void expect_rows(const Timeline& line, const std::vector<Row>& rows) {
  ASSERT_EQ(line.points.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE("point " + std::to_string(i));
    EXPECT_EQ(line.points[i].kind, rows[i].kind);
    EXPECT_EQ(line.points[i].index, rows[i].index);
    EXPECT_EQ(line.points[i].live_bytes, rows[i].live);
    EXPECT_EQ(line.points[i].peak_bytes, rows[i].peak);
  }
}

/// x -> a -> b -> c of 10 bytes; op 2 has 5 bytes of workspace. Op 1 saves a, op 2 saves b and c.
Trace three() {
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 10, 0, 1);
  const auto b = net.op({a}, 10, 0, 2);
  net.save(a);
  const auto c = net.op({b}, 10, 5, 4);
  net.save(b);
  net.save(c);
  Trace trace = net.finish();
  trace.static_bytes = 1000;
  return trace;
}

constexpr auto forward = Kind::forward_op;
constexpr auto again = Kind::reforward_op;
constexpr auto event = Kind::backward_event;
// Events of three(): begin, unpack b, unpack c, release b, release c, unpack a, release a, end.

TEST(Simulate, CountsAKeptStepByHand) {
  const ValueId a(1), b(2), c(3);
  const Timeline line = simulate(three(), plan_of({a, b, c}));
  expect_rows(line, {{forward, 0, 1000, 1010},
                     {forward, 1, 1010, 1020},
                     {forward, 2, 1020, 1035},
                     {event, 0, 1030, 1030},
                     {event, 1, 1030, 1030},
                     {event, 2, 1030, 1030},
                     {event, 3, 1030, 1030},
                     {event, 4, 1020, 1020},
                     {event, 5, 1010, 1010},
                     {event, 6, 1010, 1010},
                     {event, 7, 1000, 1000}});
  EXPECT_EQ(line.peak_bytes, 1035);
  EXPECT_EQ(line.peak_point, 2U);
  EXPECT_EQ(line.recompute_seconds, 0);
  EXPECT_EQ(line.reforwarded_ops, 0);
}

TEST(Simulate, CountsAReforwardByHand) {
  const ValueId a(1), b(2), c(3);
  const Timeline line = simulate(three(), plan_of({}, {{{OpId(0), OpId(1), OpId(2)}, {b, c}}, {{OpId(0)}, {a}}}));
  expect_rows(line, {{forward, 0, 1000, 1010},
                     {forward, 1, 1010, 1020},
                     {forward, 2, 1010, 1025},
                     {event, 0, 1000, 1000},
                     {again, 0, 1000, 1010},
                     {again, 1, 1010, 1020},
                     {again, 2, 1010, 1025},  // a was freed when b had been made
                     {event, 1, 1020, 1020},
                     {event, 2, 1020, 1020},
                     {event, 3, 1020, 1020},
                     {event, 4, 1010, 1010},
                     {again, 0, 1000, 1010},
                     {event, 5, 1010, 1010},
                     {event, 6, 1010, 1010},
                     {event, 7, 1000, 1000}});
  EXPECT_EQ(line.peak_bytes, 1025);
  EXPECT_EQ(line.recompute_seconds, 1 + 2 + 4 + 1);
  EXPECT_EQ(line.reforwarded_ops, 4);
}

TEST(Simulate, AddsBaseBytes) {
  Trace trace = three();
  trace.ops[1].base_bytes = 3;
  trace.ops[1].gap_bytes = 50;
  trace.backward[1].base_bytes = 7;   // unpack b
  trace.backward[3].gap_bytes = 200;  // after the release of b
  const Timeline line = simulate(
      trace, plan_of({}, {{{OpId(0), OpId(1), OpId(2)}, {ValueId(2), ValueId(3)}}, {{OpId(0)}, {ValueId(1)}}}));
  EXPECT_EQ(line.points[1].live_bytes, 1013);
  EXPECT_EQ(line.points[1].peak_bytes, 1070);  // a and b, and the gap
  EXPECT_EQ(line.points[6].peak_bytes, 1032);  // re-forwards run over the base of the unpack
  EXPECT_EQ(line.points[9].peak_bytes, 1210);  // c is left
  EXPECT_EQ(line.peak_bytes, 1210);
  EXPECT_EQ(line.peak_point, 9U);
}

TEST(Simulate, WhatTheUserHoldsLivesOn) {
  Trace trace = three();
  trace.values[1].dies = 3 + 7;  // a: to the end event
  const Timeline kept = simulate(trace, plan_of({ValueId(1), ValueId(2), ValueId(3)}));
  EXPECT_EQ(kept.points[9].peak_bytes, 1010);   // released, but the user has it
  EXPECT_EQ(kept.points[10].live_bytes, 1000);  // until the last event begins
  trace.values[1].dies = Value::never;
  EXPECT_EQ(simulate(trace, plan_of({ValueId(1), ValueId(2), ValueId(3)})).points[10].live_bytes, 1010);
}

TEST(Simulate, InPlaceTakesTheBufferOver) {
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 10);
  const auto b = net.in_place(a);
  net.op({b}, 10);
  net.save(b);
  const Trace trace = net.finish();
  // Begin, unpack b, release b, end. b is made again in the buffer of a.
  const Timeline line = simulate(trace, plan_of({}, {{{OpId(0), OpId(1)}, {b}}}));
  expect_rows(line, {{forward, 0, 0, 10},
                     {forward, 1, 10, 10},
                     {forward, 2, 10, 20},
                     {event, 0, 0, 0},
                     {again, 0, 0, 10},
                     {again, 1, 10, 10},
                     {event, 1, 10, 10},
                     {event, 2, 10, 10},
                     {event, 3, 0, 0}});
}

TEST(Simulate, ACopyIsMadeBeforeTheOp) {
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 10);
  net.op({a}, 0);
  net.save(a);
  const auto b = net.in_place(a);
  net.save(b);
  const Timeline line = simulate(net.finish(), plan_of({}, {{{OpId(0), OpId(2)}, {a, b}}}));
  ASSERT_EQ(line.points[5].kind, again);
  EXPECT_EQ(line.points[5].live_bytes, 10);
  EXPECT_EQ(line.points[5].peak_bytes, 20);
}

TEST(Simulate, RefusesAForeignPlan) {
  Plan plan = plan_of({ValueId(1), ValueId(2), ValueId(3)});
  plan.trace_fingerprint = fingerprint(three());
  EXPECT_NO_THROW(simulate(three(), plan));
  plan.trace_fingerprint += 1;
  EXPECT_THROW(simulate(three(), plan), FormatError);
  EXPECT_THROW(evaluate(three(), plan), FormatError);
}

}  // namespace
}  // namespace reforward
