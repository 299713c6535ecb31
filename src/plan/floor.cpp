#include <algorithm>
#include <vector>

#include "plan/index.h"
#include "reforward/planner.h"

namespace reforward {

int64_t floor_bytes(const Trace& trace) {
  const TraceIndex index(trace);
  const std::size_t ops = trace.ops.size();
  const std::size_t positions = ops + trace.backward.size();
  // Held anyway, beside the bare step: from the position at `from` to the start of that at `to`.
  std::vector<int64_t> change(positions + 1, 0);
  std::vector<int64_t> ends(positions + 1, 0);
  const auto hold = [&](std::size_t value, std::size_t from, std::size_t to) {
    if (index.in_external[value] != 0) return;
    from = std::max(from, static_cast<std::size_t>(trace.values[value].dies));
    if (from > to) return;
    change[from] += trace.values[value].bytes;
    ends[std::min(to, positions)] += trace.values[value].bytes;
  };
  const auto only_from_forward = [&](std::size_t v) {
    return index.must_keep[v] != 0 && index.can_run_again[trace.values[v].maker.at()] == 0 &&
           index.first_unpack[v] != TraceIndex::none;
  };
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    if (!only_from_forward(v)) continue;
    hold(v, 0, ops + static_cast<std::size_t>(index.last_event[v]));
  }
  // In the hands of backward nodes: a value counts once, from its first open entry to its last.
  std::vector<int32_t> open(trace.values.size(), 0);
  std::vector<std::size_t> since(trace.values.size(), 0);
  std::vector<uint8_t> unpacked(trace.saved.size(), 0);
  for (std::size_t e = 0; e < trace.backward.size(); ++e) {
    const BackwardEvent& event = trace.backward[e];
    if (!event.saved.valid()) continue;
    const std::size_t v = trace.saved[event.saved.at()].value.at();
    if (trace.values[v].external() || only_from_forward(v)) continue;
    if (event.kind == BackwardEvent::Kind::unpack) {
      if (unpacked[event.saved.at()] != 0) continue;
      unpacked[event.saved.at()] = 1;
      if (open[v]++ == 0) since[v] = ops + e;
    } else if (unpacked[event.saved.at()] != 0 && --open[v] == 0) {
      hold(v, since[v], ops + e);
    }
  }
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    if (open[v] > 0) hold(v, since[v], positions);
  }
  int64_t held = 0;
  int64_t floor = 0;
  for (std::size_t p = 0; p < positions; ++p) {
    held += change[p];
    floor = std::max(floor, index.bare_live[p] + held);
    held -= ends[p];
    floor = std::max(floor, index.bare_peak[p] + held);
  }
  return floor;
}

}  // namespace reforward
