#include "plan/cuts.h"

#include <algorithm>

namespace reforward {
namespace {

/// By op, one more at the end: bytes made in fresh memory before it.
std::vector<int64_t> bytes_before(const TraceIndex& index) {
  std::vector<int64_t> sums(index.trace.ops.size() + 1, 0);
  for (std::size_t i = 0; i + 1 < sums.size(); ++i) sums[i + 1] = sums[i] + index.fresh_bytes[i];
  return sums;
}

}  // namespace

std::vector<int32_t> last_reads(const TraceIndex& index) {
  std::vector<int32_t> last(index.trace.values.size(), -1);
  for (std::size_t i = 0; i < index.trace.ops.size(); ++i) {
    if (index.can_run_again[i] == 0) continue;
    for (const ValueId need : index.needs[i]) last[need.at()] = static_cast<int32_t>(i);
  }
  return last;
}

std::vector<Cut> possible_cuts(const TraceIndex& index) {
  const Trace& trace = index.trace;
  const auto last = last_reads(index);
  std::vector<int64_t> frontier(trace.ops.size() + 1, 0);
  std::vector<int32_t> barred(trace.ops.size() + 1, 0);
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    const Value& value = trace.values[v];
    if (value.external() || last[v] <= value.maker.index || index.must_keep[v] != 0) continue;
    const auto from = value.maker.at() + 1;
    const auto to = static_cast<std::size_t>(last[v]) + 1;
    const int64_t bytes = index.can_keep[v] != 0 ? value.bytes : 0;
    frontier[from] += bytes;
    frontier[to] -= bytes;
    barred[from] += index.can_keep[v] != 0 ? 0 : 1;
    barred[to] -= index.can_keep[v] != 0 ? 0 : 1;
  }
  std::vector<Cut> cuts;
  for (std::size_t i = 1; i < trace.ops.size(); ++i) {
    frontier[i] += frontier[i - 1];
    barred[i] += barred[i - 1];
    if (barred[i] == 0) cuts.push_back({i, frontier[i]});
  }
  return cuts;
}

std::vector<Cut> thin_out(const TraceIndex& index, const std::vector<Cut>& cuts, std::size_t most) {
  if (cuts.size() <= most) return cuts;
  const auto made = bytes_before(index);
  // Ops that make nothing in fresh memory still count a little, so that none of many is ever alone in the last part.
  const auto place = [&](const Cut& cut) {
    return static_cast<double>(made[cut.op]) / static_cast<double>(std::max<int64_t>(made.back(), 1)) +
           static_cast<double>(cut.op) / static_cast<double>(index.trace.ops.size());
  };
  std::vector<Cut> chosen;
  std::size_t part_before = most;
  for (const Cut& cut : cuts) {
    const auto part = std::min(most - 1, static_cast<std::size_t>(place(cut) / 2 * static_cast<double>(most)));
    if (part != part_before) {
      chosen.push_back(cut);
    } else if (cut.frontier_bytes < chosen.back().frontier_bytes) {
      chosen.back() = cut;
    }
    part_before = part;
  }
  return chosen;
}

Levels levels_of(const TraceIndex& index, const std::vector<ChosenCut>& cuts) {
  const Trace& trace = index.trace;
  const auto last = last_reads(index);
  Levels levels = drop_all(index);
  for (std::size_t v = 0; v < levels.size(); ++v) {
    if (trace.values[v].external() || last[v] < 0) continue;
    const auto first = std::upper_bound(cuts.begin(), cuts.end(), trace.values[v].maker.at(),
                                        [](std::size_t op, const ChosenCut& cut) { return op < cut.op; });
    for (auto cut = first; cut != cuts.end() && cut->op <= static_cast<std::size_t>(last[v]); ++cut) {
      levels[v] = std::min(levels[v], cut->depth);
    }
  }
  return levels;
}

Levels equal_segments(const TraceIndex& index, std::size_t segments) {
  const auto made = bytes_before(index);
  const auto possible = possible_cuts(index);
  std::vector<ChosenCut> cuts;
  for (std::size_t k = 1; k < segments && !possible.empty(); ++k) {
    const auto goal =
        static_cast<int64_t>(static_cast<double>(made.back()) * static_cast<double>(k) / static_cast<double>(segments));
    auto near = std::lower_bound(possible.begin(), possible.end(), goal,
                                 [&](const Cut& cut, int64_t bytes) { return made[cut.op] < bytes; });
    if (near == possible.end()) --near;
    if (near != possible.begin() && goal - made[(near - 1)->op] < made[near->op] - goal) --near;
    if (cuts.empty() || cuts.back().op < near->op) cuts.push_back({near->op, 0});
  }
  return levels_of(index, cuts);
}

}  // namespace reforward
