#pragma once

#include <vector>

#include "plan/assemble.h"
#include "plan/index.h"
#include "reforward/plan.h"
#include "reforward/simulate.h"

namespace reforward {

/// A plan that no other one found beats in both peak and recompute time.
struct FrontierPlan {
  Levels levels;
  Cost cost;
};

/// The plans that the search finds for a trace, from the least peak to
/// everything kept: peaks ascend, recompute times descend. It depends on the
/// trace alone, never on a budget; so solvers that choose from it give the same
/// plan for the same input, and never more recompute time for more bytes.
/// The least peak depends on bytes and structure alone: times are noise from one
/// trace of a step to the next, and the number that a refusal names must hold.
/// The work is bounded by counts, never by a clock.
std::vector<FrontierPlan> find_frontier(const TraceIndex& index);

}  // namespace reforward
