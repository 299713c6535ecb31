#pragma once

#include "plan/graph/ordered.h"

namespace reforward::graph {

/// Feng and Huang's algorithm for arbitrary computation graphs.
Choice paper_choice(const Ordered& graph);

}  // namespace reforward::graph
