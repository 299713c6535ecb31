#include "plan/assemble.h"

#include <algorithm>
#include <array>
#include <limits>

namespace reforward {
namespace {

constexpr int32_t not_needed = std::numeric_limits<int32_t>::max();

/// Re-forwards that run at the same event are one: what both would make is
/// made once.
void merge_into(std::vector<OpId>& ops, const std::vector<OpId>& more) {
  const auto middle = static_cast<std::ptrdiff_t>(ops.size());
  ops.insert(ops.end(), more.begin(), more.end());
  std::inplace_merge(ops.begin(), ops.begin() + middle, ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
}

}  // namespace

Levels drop_all(const TraceIndex& index) { return Levels(index.trace.values.size(), leaf); }

Assembler::Assembler(const TraceIndex& index) : index_(index) {}

void Assembler::put_right(const Levels& levels) {
  levels_ = levels;
  for (std::size_t v = 0; v < levels_.size(); ++v) {
    if (index_.must_keep[v] != 0) {
      levels_[v] = 0;
    } else if (index_.can_keep[v] == 0) {
      levels_[v] = leaf;
    }
  }
}

std::size_t Assembler::root(std::size_t op) {
  while (group_[op] != op) {
    group_[op] = group_[group_[op]];
    op = group_[op];
  }
  return op;
}

void Assembler::need(ValueId value, int32_t event) { needed_at_[value.at()] = std::min(needed_at_[value.at()], event); }

/// Marks the ops that make the needed values of `level` from lower levels.
void Assembler::slice(uint8_t level) {
  const Trace& trace = index_.trace;
  std::fill(wanted_.begin(), wanted_.end(), uint8_t{0});
  for (std::size_t v = 0; v < levels_.size(); ++v) wanted_[v] = levels_[v] == level && needed_at_[v] != not_needed;
  for (std::size_t i = trace.ops.size(); i-- > 0;) {
    runs_[i] = 0;
    for (const ValueId output : trace.ops[i].outputs) runs_[i] |= wanted_[output.at()];
    if (runs_[i] == 0) continue;
    group_[i] = static_cast<uint32_t>(i);
    for (const ValueId need : index_.needs[i]) {
      if (levels_[need.at()] >= level) wanted_[need.at()] = 1;
    }
  }
}

/// Groups the marked ops, finds when each group runs, passes its demands outward.
void Assembler::collect(uint8_t level) {
  const Trace& trace = index_.trace;
  const std::size_t ops = trace.ops.size();
  for (std::size_t i = 0; i < ops; ++i) {
    if (runs_[i] == 0) continue;
    trigger_[i] = not_needed;
    run_of_[i] = -1;
    for (const ValueId need : index_.needs[i]) {
      if (levels_[need.at()] < level) continue;
      const std::size_t maker = root(trace.values[need.at()].maker.at());
      group_[root(i)] = static_cast<uint32_t>(maker);
    }
  }
  for (std::size_t i = 0; i < ops; ++i) {
    if (runs_[i] == 0) continue;
    auto& trigger = trigger_[root(i)];
    for (const ValueId output : trace.ops[i].outputs) {
      if (levels_[output.at()] == level) trigger = std::min(trigger, needed_at_[output.at()]);
    }
  }
  for (std::size_t i = 0; i < ops; ++i) {
    if (runs_[i] == 0) continue;
    const std::size_t group = root(i);
    if (run_of_[group] < 0) {
      run_of_[group] = static_cast<int32_t>(found_.size());
      found_.push_back({trigger_[group], level, {}, {}});
    }
    Run& run = found_[static_cast<std::size_t>(run_of_[group])];
    run.ops.emplace_back(i);
    for (const ValueId output : trace.ops[i].outputs) {
      if (levels_[output.at()] == level && needed_at_[output.at()] != not_needed) run.keep.push_back(output);
    }
    for (const ValueId value : index_.needs[i]) {
      if (levels_[value.at()] < level) need(value, run.trigger);
    }
  }
}

Plan Assembler::assemble(const Levels& levels) {
  const Trace& trace = index_.trace;
  put_right(levels);
  needed_at_.assign(levels_.size(), not_needed);
  wanted_.resize(levels_.size());
  runs_.resize(trace.ops.size());
  group_.resize(trace.ops.size());
  trigger_.resize(trace.ops.size());
  run_of_.resize(trace.ops.size());
  found_.clear();
  std::array<bool, leaf + 1> present{};
  for (std::size_t v = 0; v < levels_.size(); ++v) {
    if (index_.first_unpack[v] != TraceIndex::none) needed_at_[v] = index_.first_unpack[v];
    if (!trace.values[v].external()) present[levels_[v]] = true;
  }
  for (std::size_t level = leaf; level > 0; --level) {
    if (!present[level]) continue;
    slice(static_cast<uint8_t>(level));
    collect(static_cast<uint8_t>(level));
  }
  std::stable_sort(found_.begin(), found_.end(), [](const Run& a, const Run& b) {
    return a.trigger != b.trigger ? a.trigger < b.trigger : a.level < b.level;
  });
  Plan plan;
  for (std::size_t v = 0; v < levels_.size(); ++v) {
    if (levels_[v] == 0 && needed_at_[v] != not_needed) plan.keep.emplace_back(v);
  }
  int32_t last = -1;
  for (Run& run : found_) {
    if (!plan.reforwards.empty() && run.trigger == last) {
      Reforward& merged = plan.reforwards.back();
      merge_into(merged.ops, run.ops);
      merged.keep.insert(merged.keep.end(), run.keep.begin(), run.keep.end());
    } else {
      plan.reforwards.push_back({std::move(run.ops), std::move(run.keep)});
    }
    last = run.trigger;
  }
  return plan;
}

}  // namespace reforward
