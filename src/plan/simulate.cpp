#include "reforward/simulate.h"

#include <algorithm>

#include "plan/evaluator.h"
#include "reforward/error.h"

namespace reforward {

// Note [Counting bytes]
// TraceIndex knows the bytes of the bare step, in which nothing is held for
// backward. A plan adds to them: values kept from forward, from the position
// at which the user's code lets go of them to the end of their hold, and
// everything that re-forwards make. So a plan costs a sum over the row of
// positions and nothing more.

void Evaluator::add_holds_of_forward() {
  const Trace& trace = index_.trace;
  const std::size_t positions = index_.bare_live.size();
  starts_.assign(positions, 0);
  for (std::size_t id = 0; id < lowered_.forward_holds; ++id) {
    const Lowering::Hold& hold = lowered_.holds[id];
    const Value& value = trace.values[hold.value.at()];
    if (!hold.used() || index_.in_external[hold.value.at()] != 0) continue;
    const auto dies = static_cast<std::size_t>(value.dies);
    if (dies >= positions) continue;
    const bool ends_before =
        hold.last_event != Lowering::never && trace.ops.size() + static_cast<std::size_t>(hold.last_event) < dies;
    if (!ends_before) starts_[dies] += value.bytes;
  }
}

void Evaluator::free_hold(const Lowering::Hold& hold, std::size_t position) {
  const Value& value = index_.trace.values[hold.value.at()];
  if (hold.run == Lowering::none) {
    if (index_.in_external[hold.value.at()] != 0) return;
    if (static_cast<std::size_t>(value.dies) > position) return;
  }
  held_ -= value.bytes;
}

template <class Visitor>
void Evaluator::play_run(std::size_t run, std::size_t position, Visitor&& visit) {
  const Trace& trace = index_.trace;
  for (std::size_t step = lowered_.step_starts[run]; step < lowered_.step_starts[run + 1]; ++step) {
    const std::size_t op = lowered_.steps[step].at();
    const int64_t live = index_.bare_live[position] + held_;
    int64_t copied = 0;
    for (const ValueId value : lowered_.copies[step]) copied += trace.values[value.at()].bytes;
    const int64_t needed = copied + std::max(trace.ops[op].peak_bytes, index_.fresh_bytes[op]);
    visit(Timeline::Point::Kind::reforward_op, op, live, live + needed);
    held_ += copied + index_.fresh_bytes[op];
    for (const auto& free : lowered_.frees[step]) {
      if (free.taken_over) continue;
      if (free.hold == Lowering::none) {
        held_ -= trace.values[free.value.at()].bytes;
      } else {
        free_hold(lowered_.holds[static_cast<std::size_t>(free.hold)], position);
      }
    }
    seconds_ += trace.ops[op].seconds;
  }
}

template <class Visitor>
double Evaluator::play(const Plan& plan, Visitor&& visit) {
  lowered_.lower(plan);
  add_holds_of_forward();
  held_ = 0;
  seconds_ = 0;
  const std::size_t ops = index_.trace.ops.size();
  for (std::size_t p = 0; p < ops; ++p) {
    held_ += starts_[p];
    visit(Timeline::Point::Kind::forward_op, p, index_.bare_live[p] + held_, index_.bare_peak[p] + held_);
  }
  std::size_t run = 0;
  for (std::size_t p = ops; p < index_.bare_live.size(); ++p) {
    held_ += starts_[p];
    const auto event = static_cast<int32_t>(p - ops);
    for (; run < lowered_.run_event.size() && lowered_.run_event[run] == event; ++run) play_run(run, p, visit);
    const int64_t live = index_.bare_live[p] + held_;
    const int32_t ending = lowered_.event_free[p - ops];
    if (ending != Lowering::none) free_hold(lowered_.holds[static_cast<std::size_t>(ending)], p);
    visit(Timeline::Point::Kind::backward_event, p - ops, live, std::max(live, index_.bare_peak[p] + held_));
  }
  return seconds_;
}

Cost Evaluator::cost(const Plan& plan) {
  Cost cost;
  cost.recompute_seconds = play(plan, [&](Timeline::Point::Kind, std::size_t, int64_t, int64_t peak) {
    cost.peak_bytes = std::max(cost.peak_bytes, peak);
  });
  return cost;
}

Timeline Evaluator::timeline(const Plan& plan) {
  Timeline line;
  line.recompute_seconds = play(plan, [&](Timeline::Point::Kind kind, std::size_t index, int64_t live, int64_t peak) {
    if (peak > line.peak_bytes) {
      line.peak_bytes = peak;
      line.peak_point = line.points.size();
    }
    line.points.push_back({kind, static_cast<int32_t>(index), live, peak});
    line.reforwarded_ops += kind == Timeline::Point::Kind::reforward_op ? 1 : 0;
  });
  return line;
}

namespace {

void check_owner(const Trace& trace, const Plan& plan) {
  if (plan.trace_fingerprint == 0 || plan.trace_fingerprint == fingerprint(trace)) return;
  throw FormatError("the plan belongs to another trace; make a plan for this trace with reforward plan");
}

}  // namespace

Timeline simulate(const Trace& trace, const Plan& plan) {
  check_owner(trace, plan);
  const TraceIndex index(trace);
  return Evaluator(index).timeline(plan);
}

Cost evaluate(const Trace& trace, const Plan& plan) {
  check_owner(trace, plan);
  const TraceIndex index(trace);
  return Evaluator(index).cost(plan);
}

}  // namespace reforward
