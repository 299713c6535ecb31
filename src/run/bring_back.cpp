// How a step brings dropped values back: the re-forwards of its plan, and, when
// backward asks in an order that the plan did not foresee, on demand.

#include <algorithm>

#include "reforward/error.h"
#include "run/step.h"
#include "trace/replay.h"
#include "trace/replay_check.h"

namespace reforward {

void Step::bring_back(ValueId value) {
  const auto started = Clock::now();
  MemoryMeter::OwnWork own(meter_);
  if (schedule_ != nullptr) {
    const auto& runs = schedule_->runs;
    for (std::size_t r = next_run_; r < runs.size(); ++r) {
      if (std::find(runs[r].keep.begin(), runs[r].keep.end(), value) == runs[r].keep.end()) continue;
      while (next_run_ <= r) run(runs[next_run_++]);
      break;
    }
  }
  if (!held_.holds(value)) run_on_demand(value);
  recompute_seconds_ += std::chrono::duration<double>(Clock::now() - started).count();
}

void Step::run(const Schedule::Run& run) {
  for (const auto& step : run.steps) {
    replay_op(step.op, step.copy_first);
    for (const ValueId value : step.free_after) held_.drop(value);
  }
  for (std::size_t i = 0; i < run.keep.size(); ++i) held_.set_releases(run.keep[i], run.releases[i]);
}

void Step::run_on_demand(ValueId wanted) {
  const Tape& tape = recorder_->tape();
  std::vector<uint8_t> there(tape.values.size(), 0);
  std::vector<OpId> ops;
  std::vector<uint8_t> runs(tape.ops.size(), 0);
  std::vector<ValueId> open{wanted};
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (there[value.at()] != 0 || held_.holds(value)) continue;
    there[value.at()] = 1;
    const OpId maker = tape.values[value.at()].maker;
    if (!maker.valid() || tape.ops[maker.at()].pinned) {
      throw TraceError("A saved value of " +
                       (maker.valid() ? tape.ops[maker.at()].info->name : std::string("the step")) +
                       " is gone and cannot be computed again, probably because backward ran twice through a graph "
                       "or in parts; run such a step without reforward.");
    }
    if (runs[maker.at()] != 0) continue;
    runs[maker.at()] = 1;
    ops.push_back(maker);
    for (const auto& operand : tape.ops[maker.at()].operands) open.push_back(operand.value);
  }
  std::sort(ops.begin(), ops.end());
  std::vector<ValueId> made;
  for (const OpId op : ops) {
    std::vector<ValueId> copy_first;
    for (const auto& output : tape.ops[op.at()].outputs) {
      const ValueId before = tape.values[output.value.at()].overwrites;
      // What was there before this search is somebody else's.
      if (before.valid() && there[before.at()] == 0) copy_first.push_back(before);
      if (!held_.holds(output.value)) made.push_back(output.value);
    }
    replay_op(op, copy_first);
  }
  for (const ValueId value : made) {
    if (value == wanted || !held_.holds(value)) continue;
    if (held_.handles(value) > 0) continue;  // likely asked for next
    held_.drop(value);
  }
  for (const ValueId value : made) {
    if (held_.holds(value)) held_.set_releases(value, held_.handles(value));
  }
}

std::string Step::external_name(ValueId value) const {
  if (planned_) return known_->trace->values[value.at()].name;
  return value.at() < measurement_.names.size() ? measurement_.names[value.at()] : std::string();
}

void Step::replay_op(OpId id, const std::vector<ValueId>& copy_first) {
  const TapeOp& op = recorder_->tape().ops[id.at()];
  for (const auto& operand : op.operands) {
    // What the user overwrote since is made anew.
    if (held_.holds(operand.value) && !held_.external(operand.value) && held_.stale(operand.value)) {
      held_.drop(operand.value);
    }
    if (!held_.holds(operand.value)) run_on_demand(operand.value);
    if (held_.external(operand.value)) {
      held_.check_unchanged(operand.value, external_name(operand.value));
    }
  }
  std::vector<std::pair<ValueId, c10::Storage>> copies;
  for (const ValueId value : copy_first) copies.emplace_back(value, clone_storage(held_.storage(value)));
  const auto storage_of = [&](ValueId value) {
    const auto copy = std::find_if(copies.begin(), copies.end(), [&](const auto& c) { return c.first == value; });
    return copy != copies.end() ? copy->second : held_.storage(value);
  };
  std::vector<at::Tensor> operands;
  operands.reserve(op.operands.size());
  for (const auto& operand : op.operands) operands.push_back(operand.geometry.view(storage_of(operand.value)));

  const auto results = replay(op, recorder_->constants(id), operands, recorder_->random_state(id), device_);

  for (const auto& output : op.outputs) {
    if (output.operand >= 0) {
      const auto at = static_cast<std::size_t>(output.operand);
      const ValueId before = op.operands[at].value;
      const bool copied = std::find(copy_first.begin(), copy_first.end(), before) != copy_first.end();
      if (!held_.holds(output.value)) held_.hold(output.value, operands[at].storage());
      if (!copied) held_.drop(before);
    } else if (!held_.holds(output.value)) {
      const auto at = static_cast<std::size_t>(output.result);
      invariant(at < results.size() && results[at].defined(), "a replayed op returned fewer tensors than it did");
      held_.hold(output.value, results[at].storage());
    }
  }
}

}  // namespace reforward
