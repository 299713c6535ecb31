#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reforward/plan.h"
#include "reforward/simulate.h"
#include "reforward/trace.h"

namespace reforward {

struct PlanOptions {
  /// The most bytes that the device may hold at any moment of the step, static
  /// bytes included. Used by `budget`; the others ignore it.
  int64_t budget_bytes = 0;
};

/// Everything is kept: the plain step.
Plan plan_keep(const Trace& trace);

/// Cuts at every sqrt(n)-th place (Chen et al. 2016, "Training Deep Nets with
/// Sublinear Memory Cost"), by bytes made rather than by number of layers.
Plan plan_sqrt(const Trace& trace);

/// The plan with the least simulated peak that the search finds; among equal
/// peaks the one with less recompute time.
Plan plan_minimal(const Trace& trace);

/// The plan with the least recompute time, among those found, whose simulated
/// peak is within `options.budget_bytes`. Throws BudgetError naming the least
/// bytes that can be met; that number can then be met.
/// More budget never gives more recompute time; same input, same plan.
Plan plan_budget(const Trace& trace, const PlanOptions& options);

/// By name: `keep`, `sqrt`, `minimal`, `budget`. Throws InputError for another.
Plan make_plan(const Trace& trace, std::string_view solver, const PlanOptions& options);

/// `plan` for a step whose forward pass is over and has kept only `have`
/// (ascending; beside the externals): one more re-forward, ahead of the plan's
/// own, brings back what the plan keeps. The result keeps `have` and no more.
Plan resume_plan(const Trace& trace, const Plan& plan, const std::vector<ValueId>& have);

/// Bytes that no plan's simulated peak is below: what each op and each backward node
/// needs for itself, with the values that it has in hand.
int64_t floor_bytes(const Trace& trace);

/// The names that make_plan takes, in the order in which to show them.
const std::vector<std::string>& solver_names();

}  // namespace reforward
