#pragma once

#include <cstdint>
#include <vector>

#include "plan/graph/local_terms.h"
#include "plan/graph/ordered.h"

namespace reforward::graph {

/// A chain of vertices with costs, and the least that must be stored of it so that no
/// run between stored ones costs more than a local term. On a chain this is the whole
/// problem; of any other graph it bounds the cost from below when the chain is one of
/// its paths, in every order: a run of the path lies in one component.
class Chain {
 public:
  explicit Chain(std::vector<int64_t> costs);

  /// The least stored cost under a bound on the runs, and the dearest run of a set that has it.
  Probe least_stored(int64_t local) const;
  int64_t total() const { return until_.back(); }

 private:
  std::vector<int64_t> costs_, until_;
};

/// The path with the largest sum of costs, source and target left out.
Chain dearest_path(const Ordered& graph);

/// No set of stored vertices costs less, in any order.
int64_t path_bound(const Ordered& graph);

}  // namespace reforward::graph
