#pragma once

#include <cstdint>
#include <optional>

#include "plan/graph/ordered.h"

namespace reforward::graph {

struct Best {
  Choice choice;
  int64_t lower_bound = 0;  ///< along this order
};

/// Improves a set by local search; up to 18 vertices beside source and target, tries
/// every set instead, which proves the optimum. `known_bound`: no set costs less.
/// Without `seconds` a fixed amount of work.
Best exact_choice(const Ordered& graph, Choice start, int64_t known_bound, std::optional<double> seconds);

}  // namespace reforward::graph
