#pragma once

#include <vector>

#include "plan/graph/ordered.h"

namespace reforward::graph {

/// The set that cuts after some positions store: what was made before a cut and is
/// used after it. `cuts` is ascending.
std::vector<char> stored_by_cuts(const Ordered& graph, const std::vector<int32_t>& cuts);

/// Cuts at every n^0.5-th position.
Choice sqrt_choice(const Ordered& graph);

/// The best set of cuts. Above 4,000 vertices only some positions may be cut: those
/// that store little, evenly spread.
Choice cuts_choice(const Ordered& graph);

}  // namespace reforward::graph
