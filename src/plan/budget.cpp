#include <algorithm>
#include <string>

#include "plan/assemble.h"
#include "plan/finish.h"
#include "plan/frontier.h"
#include "reforward/error.h"
#include "reforward/planner.h"

namespace reforward {

Plan plan_budget(const Trace& trace, const PlanOptions& options) {
  const TraceIndex index(trace);
  const auto frontier = find_frontier(index);
  const auto above = std::find_if(frontier.begin(), frontier.end(), [&](const FrontierPlan& plan) {
    return plan.cost.peak_bytes > options.budget_bytes;
  });
  if (above == frontier.begin()) {
    const int64_t least = frontier.front().cost.peak_bytes;
    throw BudgetError("A budget of " + std::to_string(options.budget_bytes) +
                          " bytes is too small for this step; give it at least " + std::to_string(least) +
                          " bytes or make the batch smaller.",
                      least);
  }
  return finish(index, Assembler(index).assemble((above - 1)->levels), "budget", options.budget_bytes);
}

}  // namespace reforward
