#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "plan/nets.h"
#include "plan/random_trace.h"
#include "plan/small.h"
#include "reforward/error.h"
#include "reforward/trace.h"

namespace reforward {
namespace {

using made_up::Random;
using made_up::Small;

/// x -> a -> b (in place over a) -> c; b and c saved.
Trace three_ops() {
  Small net;
  const auto x = net.external(10);
  const auto a = net.op({x}, 20);
  const auto b = net.in_place(a);
  net.save(b);
  const auto c = net.op({b}, 30);
  net.save(b);
  net.save(c);
  return net.finish();
}

void expect_refused(const std::function<void(Trace&)>& damage, const std::string& words) {
  Trace trace = three_ops();
  damage(trace);
  try {
    validate(trace);
    ADD_FAILURE() << "accepted; expected a refusal with: " << words;
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(words));
    EXPECT_THAT(error.what(), testing::StartsWith("the trace is damaged: "));
  }
}

TEST(Validate, AcceptsWhatStepsLookLike) {
  EXPECT_NO_THROW(validate(three_ops()));
  EXPECT_NO_THROW(validate(made_up::chain(7, 8)));
  Trace nothing;
  nothing.backward = {{BackwardEvent::Kind::begin, {}, 0, 0}, {BackwardEvent::Kind::end, {}, 0, 0}};
  EXPECT_NO_THROW(validate(nothing));
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    EXPECT_NO_THROW(validate(made_up::random_trace(random, 40))) << seed;
  }
}

TEST(Validate, NamesWhatIsWrongWithValues) {
  const std::size_t x = 0, a = 1, b = 2, c = 3;
  expect_refused([&](Trace& t) { t.values[c].bytes = -1; }, "value 3 has an impossible size");
  expect_refused([&](Trace& t) { t.values[x].bytes = int64_t{1} << 60; }, "value 0 has an impossible size");
  expect_refused([&](Trace& t) { t.values[c].maker = OpId(3); }, "value 3 was made by an op that is not there");
  expect_refused([&](Trace& t) { t.values[c].maker.index = -2; }, "value 3 has a negative index");
  expect_refused([&](Trace& t) { t.values[x].overwrites = ValueId(a); },
                 "value 0 overwrites another but no op made it");
  expect_refused([&](Trace& t) { t.values[b].overwrites = ValueId(9); },
                 "value 2 overwrites a value that is not there");
  expect_refused([&](Trace& t) { t.values[a].overwritten = false; },
                 "value 2 overwrites a value that says it is not overwritten");
  expect_refused([&](Trace& t) { t.values[c].overwritten = true; }, "value 3 says it is overwritten, but by no value");
  expect_refused([&](Trace& t) { t.values[b].overwrites = {}; }, "value 1 says it is overwritten, but by no value");
  expect_refused([&](Trace& t) { t.values[b].bytes = 21; }, "value 2 has another size");
  expect_refused([&](Trace& t) { t.values[c].dies = 2; }, "value 3 dies before it is made");
  expect_refused([&](Trace& t) { t.values[a].dies = 2; }, "value 1 is overwritten but does not die at the op");
  expect_refused(
      [&](Trace& t) {
        t.values[c].overwrites = ValueId(a);
        t.values[c].bytes = 20;
      },
      "value 3 overwrites a value that was overwritten before");
}

TEST(Validate, NamesWhatIsWrongWithOps) {
  const ValueId a(1), b(2), c(3);
  expect_refused([&](Trace& t) { t.ops[2].inputs.emplace_back(7); }, "op 2 reads a value that is not there");
  expect_refused([&](Trace& t) { t.ops[2].inputs.push_back(b); }, "op 2 lists an input twice");
  expect_refused([&](Trace& t) { t.ops[0].inputs.push_back(b); }, "op 0 reads a value before it is made");
  expect_refused([&](Trace& t) { t.ops[2].inputs.push_back(a); }, "op 2 reads a value after it was overwritten");
  expect_refused([&](Trace& t) { t.ops[2].outputs.emplace_back(7); }, "op 2 makes a value that is not there");
  expect_refused([&](Trace& t) { t.ops[2].outputs.push_back(c); }, "op 2 lists an output twice");
  expect_refused([&](Trace& t) { t.ops[2].outputs.push_back(a); }, "op 2 lists an output that names another maker");
  expect_refused([&](Trace& t) { t.ops[2].outputs.clear(); }, "a value is missing among the outputs");
  expect_refused([&](Trace& t) { t.ops[1].peak_bytes = -1; }, "op 1 has a negative peak");
  expect_refused([&](Trace& t) { t.ops[1].seconds = -1; }, "op 1 has an impossible duration");
  expect_refused([&](Trace& t) { t.ops[1].seconds = std::numeric_limits<double>::quiet_NaN(); },
                 "op 1 has an impossible duration");
  expect_refused([&](Trace& t) { t.ops[1].gap_bytes = std::numeric_limits<int64_t>::max(); },
                 "op 1 has an impossible size");
}

TEST(Validate, NamesWhatIsWrongWithBackward) {
  expect_refused([](Trace& t) { t.saved[0].value = ValueId(8); }, "saved entry 0 names a value that is not there");
  expect_refused([](Trace& t) { t.saved[0].op = {}; }, "saved entry 0 names an op that is not there");
  expect_refused([](Trace& t) { t.saved[2].op = OpId(1); }, "saved entry 2 was saved before it was made");
  expect_refused([](Trace& t) { t.backward.clear(); }, "does not go from begin to end");
  expect_refused([](Trace& t) { t.backward.pop_back(); }, "does not go from begin to end");
  expect_refused([](Trace& t) { t.backward[1].saved = SavedId(3); },
                 "backward event 1 names a saved entry that is not there");
  expect_refused(
      [](Trace& t) {
        t.backward[1] = {BackwardEvent::Kind::end, {}, 0, 0};
      },
      "backward event 1 ends too early");
  expect_refused(
      [](Trace& t) {
        t.backward[1] = {BackwardEvent::Kind::begin, {}, 0, 0};
      },
      "backward event 1 begins again");
  expect_refused([](Trace& t) { t.backward[0].saved = SavedId(0); },
                 "backward event 0 begins or ends and names a saved entry");
  expect_refused([](Trace& t) { t.backward[1].kind = static_cast<BackwardEvent::Kind>(9); },
                 "backward event 1 is of an unknown kind");
  expect_refused([](Trace& t) { t.backward.insert(t.backward.end() - 1, t.backward[1]); },
                 "uses a saved entry after its release");
}

TEST(Fingerprint, IsWhatFnv1aOfTheStructureIs) {
  // Computed apart, by a Python script from the published FNV-1a parameters:
  // counts, then values (bytes, maker, overwrites), ops (name, inputs, outputs,
  // random * 2 + pinned), saved (value, op), events (kind, saved), all as 64-bit little-endian.
  EXPECT_EQ(fingerprint(three_ops()), 0x1ff20c8807395bd7ULL);
}

TEST(Fingerprint, FollowsStructureAndNotMeasurements) {
  const uint64_t plain = fingerprint(three_ops());
  const auto changed = [&](const std::function<void(Trace&)>& change) {
    Trace trace = three_ops();
    change(trace);
    return fingerprint(trace) != plain;
  };
  EXPECT_FALSE(changed([](Trace& t) { t.ops[0].seconds = 3; }));
  EXPECT_FALSE(changed([](Trace& t) { t.ops[0].base_bytes = 3; }));
  EXPECT_FALSE(changed([](Trace& t) { t.backward[1].gap_bytes = 3; }));
  EXPECT_FALSE(changed([](Trace& t) {
    t.model = "m";
    t.forward_seconds = 2;
    t.static_bytes = 3;
  }));
  EXPECT_TRUE(changed([](Trace& t) { t.values[3].bytes = 31; }));
  EXPECT_TRUE(changed([](Trace& t) { t.ops[2].name = "aten::other"; }));
  EXPECT_TRUE(changed([](Trace& t) { t.ops[2].inputs.emplace_back(0); }));
  EXPECT_TRUE(changed([](Trace& t) { t.ops[2].pinned = true; }));
  EXPECT_TRUE(changed([](Trace& t) { t.ops[2].random = true; }));
  EXPECT_TRUE(changed([](Trace& t) { t.saved.pop_back(); }));
  EXPECT_TRUE(changed([](Trace& t) { std::swap(t.backward[1], t.backward[2]); }));
}

}  // namespace
}  // namespace reforward
