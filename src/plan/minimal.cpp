#include <algorithm>

#include "plan/assemble.h"
#include "plan/finish.h"
#include "plan/frontier.h"
#include "reforward/planner.h"

namespace reforward {

Plan plan_minimal(const Trace& trace) {
  const TraceIndex index(trace);
  const auto frontier = find_frontier(index);
  // The last bytes can cost a lot of time: 1 % more of what the step itself needs counts as equal.
  const int64_t least = frontier.front().cost.peak_bytes;
  const int64_t equal = least + std::max<int64_t>(0, least - trace.static_bytes - trace.gradient_bytes) / 100;
  const auto above = std::find_if(frontier.begin(), frontier.end(),
                                  [&](const FrontierPlan& plan) { return plan.cost.peak_bytes > equal; });
  return finish(index, Assembler(index).assemble((above - 1)->levels), "minimal", 0);
}

}  // namespace reforward
