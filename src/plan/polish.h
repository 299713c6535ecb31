#pragma once

#include <cstddef>
#include <vector>

#include "plan/assemble.h"
#include "plan/evaluator.h"
#include "plan/index.h"

namespace reforward {

/// Local search over levels, judged by simulate: what the dynamic programme
/// cannot see (branches side by side, the exact moment of a peak) is put right
/// here, one value at a time.
class Polisher {
 public:
  Polisher(const TraceIndex& index, Assembler& assembler, Evaluator& evaluator);

  /// What to get better at; both goals count, the first one first.
  enum class Goal : uint8_t { less_time, lower_peak };
  /// Plans outside these are not considered.
  struct Limits {
    int64_t peak_bytes;
    double seconds;
    std::size_t evaluations;
  };

  /// Gives values better levels one by one until nothing helps. If there are few
  /// values, then forces each in turn to another level and goes on from there,
  /// keeping what is better in the end: so one value can make room for others.
  /// Stops at the limit of evaluations; returns how many it used.
  std::size_t polish(Levels& levels, Cost& cost, Goal goal, const Limits& limits);

 private:
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);

  std::vector<uint8_t> levels_to_try(const Levels& levels, Goal goal) const;
  void find_made(const Levels& levels);
  std::size_t descend(Levels& levels, Cost& cost, Goal goal, const Limits& limits, std::size_t forced);

  const TraceIndex& index_;
  Assembler& assembler_;
  Evaluator& evaluator_;
  std::vector<std::size_t> order_;  // values that can have a level
  std::vector<uint8_t> made_;       // by value: some re-forward makes it
};

}  // namespace reforward
