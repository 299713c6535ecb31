#pragma once

#include <cstdint>
#include <vector>

#include "reforward/graph.h"

namespace reforward::graph {

/// A graph along one topological order: vertices are named by their position in it,
/// the source is at 0 and the target at the end. What every search works on.
struct Ordered {
  Ordered(const Graph& graph, std::vector<int32_t> topological_order);

  int32_t size() const { return static_cast<int32_t>(cost.size()); }
  bool inner(int32_t p) const { return p > 0 && p + 1 < size(); }

  std::vector<int32_t> order;                ///< by position: the graph's vertex
  std::vector<int64_t> cost;                 ///< by position; source and target: 0
  std::vector<std::vector<int32_t>> before;  ///< predecessors, ascending
  std::vector<std::vector<int32_t>> after;   ///< successors, ascending
  std::vector<int32_t> last_use;             ///< the last successor; the target: itself
  int64_t unit = 1;                          ///< greatest common divisor of the costs
};

/// A set of stored positions and what it costs, as a search sees it.
struct Choice {
  std::vector<char> stored;  ///< by position
  int64_t stored_cost = 0;
  int64_t local_cost = 0;
  int64_t cost() const { return stored_cost + local_cost; }
};

/// The cost of a set, in one pass along the order.
Choice price(const Ordered& graph, std::vector<char> stored);

/// Orders worth trying where the order is free: depth first (both ways of taking
/// branches), and as the vertices are numbered.
std::vector<std::vector<int32_t>> candidate_orders(const Graph& graph);

/// As the public answer; checked against the definition (InternalError if the
/// search had another cost in mind).
GraphAnswer to_answer(const Graph& graph, const Ordered& ordered, const Choice& choice);

}  // namespace reforward::graph
