#include "plan/segments.h"

#include <algorithm>

namespace reforward {

/// The ops that make certain values before a cut again, and the last of them
/// that reads each value. The part of it after an earlier cut is the slice for
/// what is made after that cut, so one slice serves all stretches that end at b.
struct Segments::Slice {
  std::vector<uint8_t> runs;      // by op
  std::vector<uint8_t> stays;     // by value: wanted for itself
  std::vector<uint8_t> there;     // by value: held already
  std::vector<int32_t> last_use;  // by value; -1: not used
};

Segments::Segments(const TraceIndex& index, const std::vector<Cut>& cuts)
    : index_(index), last_read_(last_reads(index)) {
  ops_.push_back(0);
  for (const Cut& cut : cuts) ops_.push_back(cut.op);
  ops_.push_back(index.trace.ops.size());
  stretches_.resize(ops_.size() * (ops_.size() - 1) / 2);
  find_windows();
  rank_values();
  add_frontiers();
  for (std::size_t a = 0; a + 1 < count(); ++a) add_backward(a);
  for (std::size_t b = 1; b < count(); ++b) {
    for (std::size_t way = 0; way <= outer; ++way) add_runs(b, way);
  }
}

/// Each way keeps about the same number of bytes more than the one before.
void Segments::rank_values() {
  const Trace& trace = index_.trace;
  value_way_.assign(trace.values.size(), ways);
  std::vector<std::pair<double, std::size_t>> ranked;
  int64_t total = 0;
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    if (index_.can_keep[v] == 0 || index_.must_keep[v] != 0 || index_.first_unpack[v] == TraceIndex::none) continue;
    const Value& value = trace.values[v];
    ranked.emplace_back(-trace.ops[value.maker.at()].seconds / static_cast<double>(std::max<int64_t>(value.bytes, 1)),
                        v);
    total += value.bytes;
  }
  std::sort(ranked.begin(), ranked.end());
  int64_t sum = 0;
  for (const auto& [rank, v] : ranked) {
    const auto part = static_cast<double>(sum) / static_cast<double>(std::max<int64_t>(total, 1));
    value_way_[v] = static_cast<uint8_t>(1 + std::min(ways - 2, static_cast<std::size_t>(part * (ways - 1))));
    sum += trace.values[v].bytes;
  }
}

void Segments::find_windows() {
  const Trace& trace = index_.trace;
  std::vector<std::size_t> after(trace.ops.size() + 1, 0);
  for (std::size_t e = 0; e < trace.backward.size(); ++e) {
    if (trace.backward[e].saved.valid()) after[trace.saved[trace.backward[e].saved.at()].op.at()] = e + 1;
  }
  for (std::size_t i = trace.ops.size(); i-- > 0;) after[i] = std::max(after[i], after[i + 1]);
  for (const std::size_t op : ops_) {
    window_.push_back(after[op]);
    arrival_.push_back(index_.bare_live[trace.ops.size() + std::min(after[op], trace.backward.size() - 1)]);
  }
}

void Segments::add_frontiers() {
  const Trace& trace = index_.trace;
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    if (index_.can_keep[v] == 0 || index_.must_keep[v] != 0) continue;
    const auto maker = trace.values[v].maker.at();
    const auto made = std::upper_bound(ops_.begin(), ops_.end(), maker);  // the first cut after its maker
    const auto read = std::upper_bound(made, ops_.end(), static_cast<std::size_t>(std::max(last_read_[v], 0)));
    const auto first = static_cast<std::size_t>(made - ops_.begin());
    const auto end = static_cast<std::size_t>(read - ops_.begin());
    for (std::size_t b = first; b < end; ++b) at(first - 1, b).frontier_bytes += trace.values[v].bytes;
  }
  // So far by the stretch between neighbours in which a value is made; now by all.
  for (std::size_t b = 1; b < count(); ++b) {
    for (std::size_t a = b - 1; a-- > 0;) {
      at(a, b).frontier_bytes += at(a + 1, b).frontier_bytes;
    }
  }
}

void Segments::add_backward(std::size_t a) {
  const Trace& trace = index_.trace;
  const std::size_t ops = trace.ops.size();
  std::vector<int64_t> released(trace.backward.size(), 0);
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    if (index_.first_unpack[v] == TraceIndex::none || index_.must_keep[v] != 0 || trace.values[v].maker.at() < ops_[a])
      continue;
    released[static_cast<std::size_t>(index_.last_event[v])] += trace.values[v].bytes;
  }
  int64_t alive = 0;
  int64_t peak = 0;
  std::size_t e = trace.backward.size();
  const auto back_to = [&](std::size_t event) {
    while (e > event) {
      --e;
      const int64_t after = index_.bare_peak[ops + e] + alive;
      alive += released[e];
      peak = std::max({peak, after, index_.bare_live[ops + e] + alive});
    }
  };
  back_to(window_[a]);
  peak = 0;
  for (std::size_t b = a + 1; b < count(); ++b) {
    back_to(window_[b]);
    for (Way& way : at(a, b).way) way.peak = peak;
  }
}

Segments::Slice Segments::slice_before(std::size_t b, std::size_t way) const {
  const Trace& trace = index_.trace;
  Slice slice;
  slice.runs.assign(ops_[b], 0);
  slice.stays.assign(trace.values.size(), 0);
  slice.there.assign(trace.values.size(), 0);
  slice.last_use.assign(trace.values.size(), -1);
  for (std::size_t i = ops_[b]; i-- > 0;) {
    for (const ValueId output : trace.ops[i].outputs) {
      const std::size_t v = output.at();
      const bool crosses = index_.can_keep[v] != 0 && last_read_[v] >= static_cast<int32_t>(ops_[b]);
      const bool unpacked = index_.first_unpack[v] != TraceIndex::none;
      slice.there[v] = index_.must_keep[v] != 0 || (way != outer && (crosses || value_way_[v] <= way));
      slice.stays[v] = slice.there[v] == 0 && (way == outer ? crosses : unpacked);
      if (slice.stays[v] != 0 || (slice.there[v] == 0 && slice.last_use[v] >= 0)) slice.runs[i] = 1;
    }
    if (slice.runs[i] == 0) continue;
    for (const ValueId need : index_.needs[i]) {
      if (slice.last_use[need.at()] < 0) slice.last_use[need.at()] = static_cast<int32_t>(i);
    }
  }
  return slice;
}

void Segments::add_runs(std::size_t b, std::size_t way) {
  const Trace& trace = index_.trace;
  const Slice slice = slice_before(b, way);
  int64_t kept = 0;        // besides the frontier
  int64_t still_held = 0;  // of all that is kept, when the run begins
  std::size_t op = ops_[b];
  for (std::size_t a = b; a-- > 0;) {
    while (op > ops_[a]) {
      for (const ValueId output : trace.ops[--op].outputs) {
        const std::size_t v = output.at();
        if (slice.there[v] == 0 || index_.must_keep[v] != 0 || index_.first_unpack[v] == TraceIndex::none) continue;
        if (last_read_[v] < static_cast<int32_t>(ops_[b])) kept += trace.values[v].bytes;
        if (index_.last_event[v] >= static_cast<int32_t>(window_[b])) still_held += trace.values[v].bytes;
      }
    }
    Stretch& stretch = at(a, b);
    if (way == outer) {
      stretch.outer_peak = play(slice, a, b, stretch.outer_seconds);
    } else {
      Way& made = stretch.way[way];
      made.keep_bytes = kept;
      made.peak = std::max(made.peak, play(slice, a, b, made.seconds) + arrival_[b] + still_held);
    }
  }
}

/// The most bytes during the part of a slice after cut a.
int64_t Segments::play(const Slice& slice, std::size_t a, std::size_t b, float& seconds) const {
  const Trace& trace = index_.trace;
  int64_t live = 0;
  int64_t peak = 0;
  double sum = 0;
  for (std::size_t i = ops_[a]; i < ops_[b]; ++i) {
    if (slice.runs[i] == 0) continue;
    const Op& op = trace.ops[i];
    sum += op.seconds;
    peak = std::max(peak, live + std::max(op.peak_bytes, index_.fresh_bytes[i]));
    live += index_.fresh_bytes[i];
    for (const ValueId output : op.outputs) {
      if (slice.stays[output.at()] == 0 && slice.last_use[output.at()] < 0) live -= trace.values[output.at()].bytes;
      if (slice.there[output.at()] != 0) live -= slice.last_use[output.at()] < 0 ? 0 : trace.values[output.at()].bytes;
    }
    for (const ValueId need : index_.needs[i]) {
      const std::size_t v = need.at();
      if (slice.last_use[v] != static_cast<int32_t>(i) || slice.stays[v] != 0 || slice.there[v] != 0) continue;
      const ValueId over = index_.overwriter[v];
      if (over.valid() && trace.values[over.at()].maker == OpId(i)) continue;
      if (trace.values[v].maker.at() < ops_[a]) continue;
      live -= trace.values[v].bytes;
    }
  }
  seconds = static_cast<float>(sum);
  return peak;
}

}  // namespace reforward
