#include "plan/polish.h"

#include <algorithm>

namespace reforward {
namespace {

/// Sums of the same seconds in another order differ in the last bits; only real gains count.
bool faster(const Cost& a, const Cost& b) { return a.recompute_seconds < b.recompute_seconds * (1 - 1e-9); }

bool better(const Cost& a, const Cost& b, Polisher::Goal goal) {
  if (goal == Polisher::Goal::less_time) return faster(a, b);
  return a.peak_bytes < b.peak_bytes || (a.peak_bytes == b.peak_bytes && faster(a, b));
}

}  // namespace

Polisher::Polisher(const TraceIndex& index, Assembler& assembler, Evaluator& evaluator)
    : index_(index), assembler_(assembler), evaluator_(evaluator), made_(index.trace.values.size(), 0) {
  const Trace& trace = index.trace;
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    if (index.can_keep[v] != 0 && index.must_keep[v] == 0) order_.push_back(v);
  }
  const auto worth = [&](std::size_t v) {
    const Value& value = trace.values[v];
    return trace.ops[value.maker.at()].seconds / static_cast<double>(std::max<int64_t>(value.bytes, 1));
  };
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
}

void Polisher::find_made(const Levels& levels) {
  std::fill(made_.begin(), made_.end(), uint8_t{0});
  for (const Reforward& run : assembler_.assemble(levels).reforwards) {
    for (const OpId op : run.ops) {
      for (const ValueId output : index_.trace.ops[op.at()].outputs) made_[output.at()] = 1;
    }
  }
}

/// Level 0, then the inner ones, then leaf.
std::vector<uint8_t> Polisher::levels_to_try(const Levels& levels, Goal goal) const {
  uint8_t deepest = goal == Goal::less_time ? 0 : 1;
  for (const std::size_t v : order_) {
    if (levels[v] != leaf) deepest = std::max(deepest, levels[v]);
  }
  std::vector<uint8_t> choices;
  for (uint8_t level = 0; level <= deepest; ++level) choices.push_back(level);
  choices.push_back(leaf);
  return choices;
}

/// Goes through the values that re-forwards make (for a lower peak, through all),
/// those first that take longest for their bytes, again and again.
std::size_t Polisher::descend(Levels& levels, Cost& cost, Goal goal, const Limits& limits, std::size_t forced) {
  std::size_t done = 0;
  bool improved = true;
  while (improved && done < limits.evaluations) {
    improved = false;
    if (goal == Goal::less_time) find_made(levels);
    const auto choices = levels_to_try(levels, goal);
    for (const std::size_t v : order_) {
      if (v == forced || (goal == Goal::less_time && made_[v] == 0)) continue;
      for (const uint8_t level : choices) {
        const uint8_t before = levels[v];
        if (level == before || done == limits.evaluations) continue;
        levels[v] = level;
        const Cost changed = evaluator_.cost(assembler_.assemble(levels));
        ++done;
        const bool allowed = changed.peak_bytes <= limits.peak_bytes && changed.recompute_seconds <= limits.seconds;
        // A plan that is not allowed (one value was forced) may only move towards what is.
        const bool better_so_far = cost.peak_bytes > limits.peak_bytes ? changed.peak_bytes < cost.peak_bytes
                                                                       : allowed && better(changed, cost, goal);
        if (better_so_far) {
          cost = changed;
          improved = true;
        } else {
          levels[v] = before;
        }
      }
    }
  }
  return done;
}

std::size_t Polisher::polish(Levels& levels, Cost& cost, Goal goal, const Limits& limits) {
  std::size_t done = descend(levels, cost, goal, limits, nothing);
  // A few values forced out of many only cost time.
  if (order_.size() * order_.size() > limits.evaluations) return done;
  for (const std::size_t v : order_) {
    for (const uint8_t level : levels_to_try(levels, goal)) {
      if (level == levels[v] || done >= limits.evaluations) continue;
      Levels trial = levels;
      trial[v] = level;
      Cost trial_cost = evaluator_.cost(assembler_.assemble(trial));
      Limits rest = limits;
      rest.evaluations -= ++done;
      done += descend(trial, trial_cost, goal, rest, v);
      const bool allowed = trial_cost.peak_bytes <= limits.peak_bytes && trial_cost.recompute_seconds <= limits.seconds;
      if (!allowed || !better(trial_cost, cost, goal)) continue;
      levels = std::move(trial);
      cost = trial_cost;
    }
  }
  return done;
}

}  // namespace reforward
