#include "plan/lowering.h"

#include <algorithm>
#include <string>

#include "reforward/error.h"

namespace reforward {
namespace {

[[noreturn]] void refuse(const std::string& problem) {
  throw FormatError("the plan does not fit the trace: " + problem + "; make a plan for this trace with reforward plan");
}

std::string text(ValueId value) { return "value " + std::to_string(value.index); }
std::string text(OpId op) { return "op " + std::to_string(op.index); }

}  // namespace

Lowering::Lowering(const TraceIndex& index) : index_(index) {}

void Lowering::lower(const Plan& plan) {
  const std::size_t values = index_.trace.values.size();
  current_.assign(values, none);
  made_in_.assign(values, none);
  last_local_.resize(values);
  entry_open_.assign(index_.trace.saved.size(), 0);
  open_.clear();
  holds.clear();
  hold_starts.clear();
  step_starts.clear();
  run_event.clear();
  steps.clear();
  copies.clear();
  frees.clear();
  take_keep(plan);
  play_backward(plan);
  find_ends();
}

void Lowering::take_keep(const Plan& plan) {
  ValueId before;
  for (const ValueId value : plan.keep) {
    if (!value.valid() || value.at() >= index_.trace.values.size()) refuse("it keeps a value that is not there");
    if (value <= before) refuse("its kept values are not in ascending order");
    before = value;
    if (index_.trace.values[value.at()].external()) refuse(text(value) + " is external and cannot be kept");
    if (index_.can_keep[value.at()] == 0) refuse(text(value) + " is overwritten later and cannot be kept");
    current_[value.at()] = static_cast<int32_t>(holds.size());
    holds.push_back({value, none, 0, none, none});
    open_.push_back(0);
  }
  forward_holds = holds.size();
}

void Lowering::play_backward(const Plan& plan) {
  const Trace& trace = index_.trace;
  std::size_t next = 0;
  for (std::size_t e = 0; e < trace.backward.size(); ++e) {
    const BackwardEvent& event = trace.backward[e];
    if (!event.saved.valid()) continue;
    const ValueId value = trace.saved[event.saved.at()].value;
    if (trace.values[value.at()].external()) continue;
    if (event.kind == BackwardEvent::Kind::unpack) {
      while (current_[value.at()] == none) {
        if (next == plan.reforwards.size()) refuse(text(value) + " is needed in backward, but not kept or made again");
        play_run(plan.reforwards[next++], static_cast<int32_t>(e));
      }
      if (entry_open_[event.saved.at()] == 0) ++open_[static_cast<std::size_t>(current_[value.at()])];
      entry_open_[event.saved.at()] = 1;
    } else if (current_[value.at()] != none) {
      const auto id = static_cast<std::size_t>(current_[value.at()]);
      Hold& hold = holds[id];
      ++hold.releases;
      hold.last_event = static_cast<int32_t>(e);
      hold.last_step = none;
      open_[id] -= entry_open_[event.saved.at()];
      entry_open_[event.saved.at()] = 0;
    }
  }
  for (std::size_t id = 0; id < holds.size(); ++id) {
    if (open_[id] == 0) continue;
    holds[id].releases = never;
    holds[id].last_event = never;
    holds[id].last_step = none;
  }
  for (; next < plan.reforwards.size(); ++next) {
    check_unreached(plan.reforwards[next]);
    run_event.push_back(none);
    step_starts.push_back(static_cast<uint32_t>(steps.size()));
    hold_starts.push_back(static_cast<uint32_t>(holds.size()));
  }
  step_starts.push_back(static_cast<uint32_t>(steps.size()));
  hold_starts.push_back(static_cast<uint32_t>(holds.size()));
}

void Lowering::check_unreached(const Reforward& run) const {
  for (const OpId op : run.ops) {
    if (!op.valid() || op.at() >= index_.trace.ops.size()) refuse("it runs an op that is not there");
  }
  for (const ValueId value : run.keep) {
    if (!value.valid() || value.at() >= index_.trace.values.size()) refuse("it keeps a value that is not there");
  }
}

void Lowering::play_run(const Reforward& run, int32_t event) {
  const Trace& trace = index_.trace;
  const auto id = static_cast<int32_t>(run_event.size());
  run_event.push_back(event);
  step_starts.push_back(static_cast<uint32_t>(steps.size()));
  hold_starts.push_back(static_cast<uint32_t>(holds.size()));
  OpId before;
  for (const OpId op : run.ops) {
    if (!op.valid() || op.at() >= trace.ops.size()) refuse("it runs an op that is not there");
    if (op <= before) refuse("the ops of a re-forward are not in ascending order");
    before = op;
    if (trace.ops[op.at()].pinned || index_.writes_external[op.at()] != 0) refuse(text(op) + " cannot be run again");
    const auto step = static_cast<int32_t>(steps.size());
    steps.push_back(op);
    for (const ValueId need : index_.needs[op.at()]) {
      if (made_in_[need.at()] == id) continue;
      if (current_[need.at()] == none) refuse(text(need) + " is needed to run " + text(op) + " again, but not there");
      Hold& hold = holds[static_cast<std::size_t>(current_[need.at()])];
      hold.last_event = event;
      hold.last_step = step;
    }
    for (const ValueId output : trace.ops[op.at()].outputs) made_in_[output.at()] = id;
  }
  keep_from_run(run, id);
}

void Lowering::keep_from_run(const Reforward& run, int32_t id) {
  for (const ValueId value : run.keep) {
    if (!value.valid() || value.at() >= index_.trace.values.size()) refuse("it keeps a value that is not there");
    if (made_in_[value.at()] != id) refuse(text(value) + " is kept by a re-forward that does not make it");
    const int32_t old = current_[value.at()];
    if (old != none && holds[static_cast<std::size_t>(old)].run == id) refuse(text(value) + " is kept twice");
    if (old != none && open_[static_cast<std::size_t>(old)] != 0) {
      refuse(text(value) + " is made again while a backward node is using it");
    }
    current_[value.at()] = static_cast<int32_t>(holds.size());
    holds.push_back({value, id, 0, none, none});
    open_.push_back(0);
  }
}

void Lowering::find_ends() {
  event_free.assign(index_.trace.backward.size(), none);
  for (std::size_t id = 0; id < holds.size(); ++id) {
    const Hold& hold = holds[id];
    if (hold.used() && hold.last_step == none && hold.last_event != never) {
      event_free[static_cast<std::size_t>(hold.last_event)] = static_cast<int32_t>(id);
    }
  }
  // Replay the row of runs, to know again which hold was current at each.
  std::fill(current_.begin(), current_.end(), none);
  for (std::size_t id = 0; id < forward_holds; ++id) current_[holds[id].value.at()] = static_cast<int32_t>(id);
  for (std::size_t run = 0; run < run_event.size(); ++run) find_run_ends(run);
}

bool Lowering::held_beyond(std::size_t run, ValueId value) const {
  if (current_[value.at()] == none) return false;
  const Hold& hold = holds[static_cast<std::size_t>(current_[value.at()])];
  return hold.last_event > run_event[run] || hold.last_step >= static_cast<int32_t>(step_starts[run + 1]);
}

void Lowering::find_run_ends(std::size_t run) {
  const auto id = static_cast<int32_t>(run);
  for (std::size_t step = step_starts[run]; step < step_starts[run + 1]; ++step) {
    for (const ValueId need : index_.needs[steps[step].at()]) last_local_[need.at()] = static_cast<int32_t>(step);
    for (const ValueId output : index_.trace.ops[steps[step].at()].outputs) {
      made_in_[output.at()] = held_beyond(run, output) ? none : id;
      last_local_[output.at()] = static_cast<int32_t>(step);
    }
  }
  std::size_t next = hold_starts[run];
  for (; next < hold_starts[run + 1]; ++next) {
    // A value that this run keeps for somebody is not ours to free in it.
    if (holds[next].used()) last_local_[holds[next].value.at()] = never;
  }
  for (std::size_t step = step_starts[run]; step < step_starts[run + 1]; ++step) lower_step(run, step);
  for (next = hold_starts[run]; next < hold_starts[run + 1]; ++next) {
    current_[holds[next].value.at()] = static_cast<int32_t>(next);
  }
}

void Lowering::lower_step(std::size_t run, std::size_t step) {
  const auto now = static_cast<int32_t>(step);
  const std::size_t first_free = frees.items.size();
  const Trace& trace = index_.trace;
  const std::size_t op = steps[step].at();
  for (const ValueId need : index_.needs[op]) {
    if (made_in_[need.at()] == static_cast<int32_t>(run)) {
      if (last_local_[need.at()] == now) frees.items.push_back({need});
    } else if (holds[static_cast<std::size_t>(current_[need.at()])].last_step == now) {
      frees.items.push_back({need, current_[need.at()]});
    }
  }
  for (const ValueId output : trace.ops[op].outputs) {
    const ValueId before = trace.values[output.at()].overwrites;
    if (before.valid()) {
      const auto freed = std::find_if(frees.items.begin() + static_cast<std::ptrdiff_t>(first_free), frees.items.end(),
                                      [&](const Free& free) { return free.value == before; });
      if (freed == frees.items.end()) {
        copies.items.push_back(before);
      } else {
        freed->taken_over = true;
      }
    }
    const bool duplicate = made_in_[output.at()] == none;
    if (duplicate || last_local_[output.at()] == now) frees.items.push_back({output, none, false, duplicate});
  }
  copies.close();
  frees.close();
}

}  // namespace reforward
