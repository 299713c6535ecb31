#include <algorithm>
#include <cmath>

#include "plan/assemble.h"
#include "plan/cuts.h"
#include "plan/finish.h"
#include "reforward/planner.h"

namespace reforward {

// Chen, Xu, Zhang, Guestrin 2016, "Training Deep Nets with Sublinear Memory
// Cost", section 4: with n equal layers, sqrt(n) segments cost least. Layers
// are not equal here: n counts the ops that make something in fresh memory, and
// segments make about equal bytes.
Plan plan_sqrt(const Trace& trace) {
  const TraceIndex index(trace);
  const auto makers =
      std::count_if(index.fresh_bytes.begin(), index.fresh_bytes.end(), [](int64_t b) { return b > 0; });
  const auto segments = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(makers))));
  return finish(index, Assembler(index).assemble(equal_segments(index, segments)), "sqrt", 0);
}

}  // namespace reforward
