#include "reforward/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

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
using testing::ElementsAre;
using testing::IsEmpty;

/// Obeys a schedule as the runtime does, on buffers that are really written
/// over: each remembers which value it contains. Counts the bytes of all buffers
/// that somebody refers to.
class Player {
 public:
  Player(const Trace& trace, const Schedule& schedule) : trace_(trace), schedule_(schedule) {}

  int64_t play() {
    forward();
    backward();
    return peak_;
  }

 private:
  struct Buffer {
    ValueId contents;
    int64_t bytes = 0;
  };
  using Pointer = std::shared_ptr<Buffer>;
  struct Held {
    Pointer buffer;
    int32_t releases = 0;
  };

  void note(int64_t other) {
    std::set<Pointer> all;
    for (const auto& [v, buffer] : user_) all.insert(buffer);
    for (const auto& [v, held] : held_) all.insert(held.buffer);
    for (const auto& [v, buffer] : local_) all.insert(buffer);
    for (const Pointer& buffer : copies_) all.insert(buffer);
    int64_t live = trace_.static_bytes + other;
    for (const Pointer& buffer : all) live += buffer->bytes;
    peak_ = std::max(peak_, live);
  }

  int64_t own(const Op& op) const {
    int64_t fresh = 0;
    for (const ValueId v : op.outputs)
      fresh += trace_.values[v.at()].overwrites.valid() ? 0 : trace_.values[v.at()].bytes;
    return std::max(fresh, op.peak_bytes);
  }

  void let_go(int32_t position) {
    std::erase_if(user_, [&](const auto& item) { return trace_.values[item.first.at()].dies <= position; });
  }

  void forward() {
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
      const Op& op = trace_.ops[i];
      // What is overwritten dies only when the op has written.
      std::erase_if(user_, [&](const auto& item) {
        const Value& v = trace_.values[item.first.at()];
        return v.dies <= static_cast<int32_t>(i) && !v.overwritten;
      });
      note(op.base_bytes + own(op));
      for (const ValueId v : op.outputs) {
        const ValueId over = trace_.values[v.at()].overwrites;
        if (!over.valid()) {
          user_[v] = std::make_shared<Buffer>(Buffer{v, trace_.values[v.at()].bytes});
        } else {
          if (user_.count(over) == 0) user_[over] = std::make_shared<Buffer>();  // of an external: not counted
          user_[v] = user_[over];
          user_[v]->contents = v;
          user_.erase(over);
        }
        const auto kept = std::find(schedule_.keep.begin(), schedule_.keep.end(), v);
        if (kept != schedule_.keep.end()) {
          held_[v] = {user_[v], schedule_.keep_releases[static_cast<std::size_t>(kept - schedule_.keep.begin())]};
        }
      }
      note(op.gap_bytes);
    }
  }

  void backward() {
    std::size_t next = 0;
    for (std::size_t e = 0; e < trace_.backward.size(); ++e) {
      const BackwardEvent& event = trace_.backward[e];
      let_go(static_cast<int32_t>(trace_.ops.size() + e));
      const ValueId v = event.saved.valid() ? trace_.saved[event.saved.at()].value : ValueId();
      if (event.kind == BackwardEvent::Kind::unpack) {
        while (held_.count(v) == 0) {
          ASSERT_LT(next, schedule_.runs.size());
          run(schedule_.runs[next++], event.base_bytes);
        }
        EXPECT_EQ(held_[v].buffer->contents, v) << "unpacked with the contents of another value";
      }
      note(event.base_bytes);
      if (event.kind == BackwardEvent::Kind::release && held_.count(v) != 0 && held_[v].releases > 0) {
        if (--held_[v].releases == 0) held_.erase(v);
      }
      note(event.gap_bytes);
    }
  }

  Pointer find(ValueId v) { return local_.count(v) != 0 ? local_[v] : held_.count(v) != 0 ? held_[v].buffer : nullptr; }

  void run(const Schedule::Run& run, int64_t base) {
    for (const auto& step : run.steps) {
      const Op& op = trace_.ops[step.op.at()];
      for (const ValueId v : op.inputs) {
        if (trace_.values[v.at()].external()) continue;
        ASSERT_NE(find(v), nullptr);
        EXPECT_EQ(find(v)->contents, v) << "read after it was written over";
      }
      std::map<ValueId, Pointer> onto;
      for (const ValueId v : step.copy_first) {
        onto[v] = std::make_shared<Buffer>(*find(v));
        copies_.push_back(onto[v]);
      }
      note(base + own(op));
      for (const ValueId v : op.outputs) {
        const ValueId over = trace_.values[v.at()].overwrites;
        Pointer made = std::make_shared<Buffer>(Buffer{v, trace_.values[v.at()].bytes});
        if (over.valid()) {
          made = onto.count(over) != 0 ? onto[over] : find(over);
          made->contents = v;
        }
        // What is held already is not held twice: the new one goes at once.
        if (held_.count(v) == 0) local_[v] = made;
      }
      copies_.clear();
      for (const ValueId v : step.free_after) {
        if (local_.erase(v) == 0) {
          EXPECT_EQ(held_.erase(v), 1U);
        }
      }
    }
    for (std::size_t i = 0; i < run.keep.size(); ++i) held_[run.keep[i]] = {local_.at(run.keep[i]), run.releases[i]};
    for (const ValueId v : run.keep) local_.erase(v);
    EXPECT_THAT(local_, IsEmpty()) << "a run leaves behind what it does not keep";
  }

  const Trace& trace_;
  const Schedule& schedule_;
  std::map<ValueId, Pointer> user_, local_;
  std::map<ValueId, Held> held_;
  std::vector<Pointer> copies_;
  int64_t peak_ = 0;
};

TEST(Schedule, ObeyedItGivesRightContentsAndTheJudgesPeak) {
  int played = 0;
  for (uint64_t seed = 0; seed < 4000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Trace trace = made_up::random_trace(random, 30);
    Plan plan = made_up::random_sound_plan(random, trace);
    for (std::size_t damages = made_up::below(random, 3); damages > 0; --damages) made_up::damage(random, trace, plan);
    const auto verdict = judge::judge(trace, plan);
    if (!verdict.sound) continue;
    const Schedule schedule = compile_schedule(trace, plan);
    EXPECT_EQ(Player(trace, schedule).play(), verdict.peak_bytes);
    ++played;
  }
  EXPECT_GT(played, 2000);
}

/// x -> a -> b -> c, a and b saved by their readers, c by its maker.
Trace chain_of_three() {
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 1);
  const auto b = net.op({a}, 1);
  net.save(a);
  const auto c = net.op({b}, 1);
  net.save(b);
  net.save(c);
  return net.finish();
}

TEST(Schedule, CountsReleases) {
  const ValueId a(1), b(2), c(3);
  const Schedule kept = compile_schedule(chain_of_three(), plan_of({a, b, c}));
  EXPECT_THAT(kept.keep, ElementsAre(a, b, c));
  EXPECT_THAT(kept.keep_releases, ElementsAre(1, 1, 1));
  EXPECT_THAT(kept.runs, IsEmpty());
}

TEST(Schedule, AReadByALaterRunDecides) {
  const ValueId a(1), b(2), c(3);
  // c is unpacked first (saved by the last op): it is made from a, which then waits for its own release.
  const Schedule from_a = compile_schedule(chain_of_three(), plan_of({a}, {{{OpId(1), OpId(2)}, {b, c}}}));
  EXPECT_THAT(from_a.keep_releases, ElementsAre(1));
  ASSERT_EQ(from_a.runs.size(), 1U);
  EXPECT_THAT(from_a.runs[0].steps[0].free_after, IsEmpty());
  EXPECT_THAT(from_a.runs[0].keep, ElementsAre(b, c));
  EXPECT_THAT(from_a.runs[0].releases, ElementsAre(1, 1));
  // b is made for c and a is made anew: the first b and a go as soon as they have been read.
  const Schedule twice =
      compile_schedule(chain_of_three(), plan_of({}, {{{OpId(0), OpId(1), OpId(2)}, {b, c}}, {{OpId(0)}, {a}}}));
  ASSERT_EQ(twice.runs.size(), 2U);
  EXPECT_THAT(twice.runs[0].steps[1].free_after, ElementsAre(a));
  EXPECT_THAT(twice.runs[0].steps[2].free_after, IsEmpty());
  EXPECT_THAT(twice.runs[1].releases, ElementsAre(1));
}

TEST(Schedule, AHoldThatEndsInARunHasNoCount) {
  // m is needed by nobody but the op that makes y again.
  Small net;
  const auto x = net.external();
  const auto m = net.op({x}, 1);
  const auto y = net.op({m}, 1);
  net.op({y}, 1);
  net.save(y);
  const Schedule schedule = compile_schedule(net.finish(), plan_of({m}, {{{OpId(1)}, {y}}}));
  EXPECT_THAT(schedule.keep_releases, ElementsAre(-1));
  EXPECT_THAT(schedule.runs[0].steps[0].free_after, ElementsAre(m));
}

TEST(Schedule, InPlaceOpsTakeOverOrWorkOnACopy) {
  // a is written over by b in place, later in the step; both are saved (a before it is overwritten).
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 1);
  net.op({a}, 1);
  net.save(a);
  const auto b = net.in_place(a);
  net.save(b);
  const Trace trace = net.finish();
  // Made apart: b's run takes a's buffer over.
  const Schedule apart = compile_schedule(trace, plan_of({}, {{{OpId(0), OpId(2)}, {b}}, {{OpId(0)}, {a}}}));
  EXPECT_THAT(apart.runs[0].steps[1].copy_first, IsEmpty());
  EXPECT_THAT(apart.runs[0].steps[1].free_after, ElementsAre(a));
  // Made together: a is wanted afterwards, so b is made on a copy.
  const Schedule together = compile_schedule(trace, plan_of({}, {{{OpId(0), OpId(2)}, {b, a}}}));
  EXPECT_THAT(together.runs[0].steps[1].copy_first, ElementsAre(a));
  EXPECT_THAT(together.runs[0].steps[1].free_after, IsEmpty());
}

TEST(Schedule, WhatIsHeldIsNotHeldTwice) {
  // A normalization: its output is dropped, its statistics are kept. Making the
  // output again makes them again too; the kept ones must stay.
  Small net;
  const auto x = net.external();
  const auto out = net.op({x}, 10);
  const auto statistics = net.external(2);
  net.trace.values.back().maker = OpId(0);
  net.last().outputs.push_back(statistics);
  net.last().peak_bytes += 2;
  net.op({out}, 1);
  net.save(out);
  net.save(statistics);
  const Trace trace = net.finish();
  const Plan plan = plan_of({statistics}, {{{OpId(0)}, {out}}});
  const Schedule schedule = compile_schedule(trace, plan);
  EXPECT_THAT(schedule.keep_releases, ElementsAre(1));
  EXPECT_THAT(schedule.runs[0].steps[0].free_after, IsEmpty());
  EXPECT_EQ(simulate(trace, plan).points[4].live_bytes, 12);  // at the unpack of the output
}

TEST(Schedule, WhatIsNotUsedIsNotHeld) {
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 1);
  const auto b = net.op({a}, 1);
  net.save(b);
  const Schedule schedule = compile_schedule(net.finish(), plan_of({a}, {{{OpId(0), OpId(1)}, {b, a}}}));
  EXPECT_THAT(schedule.keep, IsEmpty());
  EXPECT_THAT(schedule.runs[0].keep, ElementsAre(b));
  EXPECT_THAT(schedule.runs[0].steps[1].free_after, ElementsAre(a));
}

void expect_refused(const Trace& trace, const Plan& plan, const std::string& words) {
  try {
    compile_schedule(trace, plan);
    ADD_FAILURE() << "accepted; expected a refusal with: " << words;
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(words));
  }
}

TEST(Schedule, RefusesPlansThatCannotRun) {
  const ValueId x(0), a(1), b(2), c(3);
  const Trace trace = chain_of_three();
  Plan foreign = plan_of({a, b, c});
  foreign.trace_fingerprint = 5;
  expect_refused(trace, foreign, "belongs to another trace");
  expect_refused(trace, plan_of({ValueId(9)}), "keeps a value that is not there");
  expect_refused(trace, plan_of({b, a}), "not in ascending order");
  expect_refused(trace, plan_of({x}), "value 0 is external");
  expect_refused(trace, plan_of({a, b}), "value 3 is needed in backward, but not kept or made again");
  expect_refused(trace, plan_of({a}, {{{OpId(2)}, {c}}}), "value 2 is needed to run op 2 again, but not there");
  expect_refused(trace, plan_of({a, b}, {{{OpId(7)}, {c}}}), "runs an op that is not there");
  expect_refused(trace, plan_of({a, b}, {{{OpId(2), OpId(1)}, {c}}}), "not in ascending order");
  expect_refused(trace, plan_of({a, b}, {{{OpId(2)}, {c, c}}}), "value 3 is kept twice");
  expect_refused(trace, plan_of({a, b}, {{{OpId(1)}, {c}}}), "value 3 is kept by a re-forward that does not make it");
  expect_refused(trace, plan_of({a, b, c}, {{{OpId(9)}, {}}}), "runs an op that is not there");
  Trace pinned = trace;
  pinned.ops[2].pinned = true;
  expect_refused(pinned, plan_of({a, b}, {{{OpId(2)}, {c}}}), "op 2 cannot be run again");
  // b, saved by the last op, is in that op's hands when c is unpacked.
  expect_refused(trace, plan_of({a, b}, {{{OpId(1), OpId(2)}, {b, c}}}),
                 "value 2 is made again while a backward node is using it");
}

TEST(Schedule, RefusesToKeepWhatIsOverwritten) {
  Small net;
  const auto x = net.external();
  const auto a = net.op({x}, 1);
  net.save(net.in_place(a));
  expect_refused(net.finish(), plan_of({a}), "value 1 is overwritten later and cannot be kept");
}

TEST(Schedule, RefusesToWriteIntoAnExternalAgain) {
  Small net;
  const auto x = net.external(4);
  const auto y = net.in_place(x);
  net.op({y}, 1);
  net.save(y);
  const Trace trace = net.finish();
  expect_refused(trace, plan_of({}, {{{OpId(0)}, {y}}}), "op 0 cannot be run again");
  EXPECT_NO_THROW(compile_schedule(trace, plan_of({y})));
}

}  // namespace
}  // namespace reforward
