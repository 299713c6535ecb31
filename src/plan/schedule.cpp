#include "reforward/schedule.h"

#include "plan/lowering.h"
#include "reforward/error.h"

namespace reforward {
namespace {

int32_t releases_of(const Lowering::Hold& hold) { return hold.last_step == Lowering::none ? hold.releases : -1; }

Schedule::Step step_of(const Lowering& lowered, std::size_t step) {
  Schedule::Step made;
  made.op = lowered.steps[step];
  const auto copies = lowered.copies[step];
  made.copy_first.assign(copies.begin(), copies.end());
  for (const auto& free : lowered.frees[step]) {
    if (!free.duplicate) made.free_after.push_back(free.value);
  }
  return made;
}

}  // namespace

Schedule compile_schedule(const Trace& trace, const Plan& plan) {
  if (plan.trace_fingerprint != 0 && plan.trace_fingerprint != fingerprint(trace)) {
    throw FormatError("the plan belongs to another trace; make a plan for this trace with reforward plan");
  }
  const TraceIndex index(trace);
  Lowering lowered(index);
  lowered.lower(plan);
  Schedule schedule;
  for (std::size_t id = 0; id < lowered.forward_holds; ++id) {
    if (!lowered.holds[id].used()) continue;
    schedule.keep.push_back(lowered.holds[id].value);
    schedule.keep_releases.push_back(releases_of(lowered.holds[id]));
  }
  for (std::size_t run = 0; run < lowered.run_event.size(); ++run) {
    Schedule::Run made;
    for (std::size_t step = lowered.step_starts[run]; step < lowered.step_starts[run + 1]; ++step) {
      made.steps.push_back(step_of(lowered, step));
    }
    for (std::size_t id = lowered.hold_starts[run]; id < lowered.hold_starts[run + 1]; ++id) {
      if (!lowered.holds[id].used()) continue;
      made.keep.push_back(lowered.holds[id].value);
      made.releases.push_back(releases_of(lowered.holds[id]));
    }
    schedule.runs.push_back(std::move(made));
  }
  return schedule;
}

}  // namespace reforward
