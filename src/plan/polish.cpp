#include "plan/polish.h"

#include <algorithm>

namespace reforward {
namespace {

bool faster(const Cost& a, const Cost& b) {
  // Sums in another order differ in the last bits; only real gains count.
  return a.recompute_seconds < b.recompute_seconds * (1 - 1e-9);
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

std::size_t Polisher::polish(Levels& levels, Cost& cost, int64_t most_bytes, std::size_t evaluations) {
  std::size_t done = 0;
  bool better = true;
  while (better && done < evaluations) {
    better = false;
    find_made(levels);
    uint8_t deepest = 0;
    for (const std::size_t v : order_) {
      if (levels[v] != leaf) deepest = std::max(deepest, levels[v]);
    }
    for (const std::size_t v : order_) {
      if (made_[v] == 0) continue;
      // Level 0, then the inner ones, then leaf.
      for (std::size_t next = 0; next <= deepest + std::size_t{1} && done < evaluations; ++next) {
        const auto level = next > deepest ? leaf : static_cast<uint8_t>(next);
        const uint8_t before = levels[v];
        if (level == before) continue;
        levels[v] = level;
        const Cost changed = evaluator_.cost(assembler_.assemble(levels));
        ++done;
        if (changed.peak_bytes <= most_bytes && faster(changed, cost)) {
          cost = changed;
          better = true;
        } else {
          levels[v] = before;
        }
      }
    }
  }
  return done;
}

}  // namespace reforward
