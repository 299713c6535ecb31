#include "reforward/planner.h"

#include <string>

#include "plan/evaluator.h"
#include "plan/finish.h"
#include "reforward/error.h"

namespace reforward {

Plan finish(const TraceIndex& index, Plan plan, std::string solver, int64_t budget_bytes) {
  const Cost cost = Evaluator(index).cost(plan);
  plan.solver = std::move(solver);
  plan.trace_fingerprint = fingerprint(index.trace);
  plan.budget_bytes = budget_bytes;
  plan.predicted_peak_bytes = cost.peak_bytes;
  plan.recompute_seconds = cost.recompute_seconds;
  return plan;
}

const std::vector<std::string>& solver_names() {
  static const std::vector<std::string> names{"budget", "minimal", "sqrt", "keep"};
  return names;
}

Plan make_plan(const Trace& trace, std::string_view solver, const PlanOptions& options) {
  if (solver == "keep") return plan_keep(trace);
  if (solver == "sqrt") return plan_sqrt(trace);
  if (solver == "minimal") return plan_minimal(trace);
  if (solver == "budget") return plan_budget(trace, options);
  std::string known;
  for (const std::string& name : solver_names()) known += (known.empty() ? "" : ", ") + name;
  throw InputError("There is no solver named '" + std::string(solver) + "'; choose one of " + known);
}

}  // namespace reforward
