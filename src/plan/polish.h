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

  /// Goes through the values that re-forwards make, those first that take
  /// longest for their bytes, and gives each a level that makes the step faster
  /// while its peak stays within `most_bytes`. Evaluates at most `evaluations`
  /// plans; returns how many it did.
  std::size_t polish(Levels& levels, Cost& cost, int64_t most_bytes, std::size_t evaluations);

 private:
  void find_made(const Levels& levels);

  const TraceIndex& index_;
  Assembler& assembler_;
  Evaluator& evaluator_;
  std::vector<std::size_t> order_;  // values that can have a level
  std::vector<uint8_t> made_;       // by value: some re-forward makes it
};

}  // namespace reforward
