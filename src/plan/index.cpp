#include "plan/index.h"

#include <algorithm>

namespace reforward {
namespace {

void find_writes(TraceIndex& index) {
  const Trace& trace = index.trace;
  index.overwriter.assign(trace.values.size(), {});
  index.in_external.assign(trace.values.size(), 0);
  index.writes_external.assign(trace.ops.size(), 0);
  index.fresh_bytes.assign(trace.ops.size(), 0);
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    for (const ValueId input : op.inputs) {
      if (!trace.values[input.at()].external()) index.needs.items.push_back(input);
    }
    for (const ValueId output : op.outputs) {
      const Value& value = trace.values[output.at()];
      if (!value.overwrites.valid()) {
        index.fresh_bytes[i] += value.bytes;
        continue;
      }
      index.overwriter[value.overwrites.at()] = output;
      const Value& before = trace.values[value.overwrites.at()];
      if (before.external() || index.in_external[value.overwrites.at()] != 0) {
        index.in_external[output.at()] = 1;
        index.writes_external[i] = 1;
      }
      if (!before.external() && std::find(op.inputs.begin(), op.inputs.end(), value.overwrites) == op.inputs.end()) {
        index.needs.items.push_back(value.overwrites);
      }
    }
    index.needs.close();
  }
}

void find_what_can_come_back(TraceIndex& index) {
  const Trace& trace = index.trace;
  const auto first_backward = static_cast<int32_t>(trace.ops.size());
  index.can_keep.assign(trace.values.size(), 0);
  index.must_keep.assign(trace.values.size(), 0);
  index.can_run_again.assign(trace.ops.size(), 0);
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    index.can_keep[v] = !trace.values[v].external() && !trace.values[v].overwritten;
  }
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    bool again = !trace.ops[i].pinned && index.writes_external[i] == 0;
    for (const ValueId need : index.needs[i]) {
      again = again && (index.can_keep[need.at()] != 0 || index.can_run_again[trace.values[need.at()].maker.at()] != 0);
    }
    index.can_run_again[i] = again;
    for (const ValueId output : trace.ops[i].outputs) {
      const bool alive = trace.values[output.at()].dies > first_backward;
      index.must_keep[output.at()] = index.can_keep[output.at()] != 0 && (!again || alive);
    }
  }
}

void find_uses_in_backward(TraceIndex& index) {
  const Trace& trace = index.trace;
  index.first_unpack.assign(trace.values.size(), TraceIndex::none);
  index.last_event.assign(trace.values.size(), TraceIndex::none);
  for (std::size_t e = 0; e < trace.backward.size(); ++e) {
    const BackwardEvent& event = trace.backward[e];
    if (!event.saved.valid()) continue;
    const ValueId value = trace.saved[event.saved.at()].value;
    if (trace.values[value.at()].external()) continue;
    auto& first = index.first_unpack[value.at()];
    if (event.kind == BackwardEvent::Kind::unpack && first == TraceIndex::none) first = static_cast<int32_t>(e);
    index.last_event[value.at()] = static_cast<int32_t>(e);
  }
}

void play_bare_step(TraceIndex& index) {
  const Trace& trace = index.trace;
  const std::size_t positions = trace.ops.size() + trace.backward.size();
  std::vector<int64_t> dying(positions, 0);
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    const auto dies = static_cast<std::size_t>(trace.values[v].dies);
    if (index.can_keep[v] != 0 && index.in_external[v] == 0 && dies < positions) dying[dies] += trace.values[v].bytes;
  }
  index.bare_live.assign(positions, 0);
  index.bare_peak.assign(positions, 0);
  int64_t held = trace.static_bytes;
  for (std::size_t p = 0; p < positions; ++p) {
    held -= dying[p];
    if (p < trace.ops.size()) {
      const Op& op = trace.ops[p];
      index.bare_live[p] = held + op.base_bytes;
      index.bare_peak[p] = index.bare_live[p] + std::max(op.peak_bytes, index.fresh_bytes[p]);
      held += index.fresh_bytes[p];
      index.bare_peak[p] = std::max(index.bare_peak[p], held + op.gap_bytes);
    } else {
      const BackwardEvent& event = trace.backward[p - trace.ops.size()];
      index.bare_live[p] = held + event.base_bytes;
      index.bare_peak[p] = held + event.gap_bytes;
    }
  }
}

}  // namespace

TraceIndex::TraceIndex(const Trace& of) : trace(of) {
  find_writes(*this);
  find_what_can_come_back(*this);
  find_uses_in_backward(*this);
  play_bare_step(*this);
}

}  // namespace reforward
