#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/graph/ordered.h"

namespace reforward::graph {

/// Components as they grow together (union-find): a position is in one of its own once
/// it is added, and the root of a component is its first position.
class Merging {
 public:
  explicit Merging(const Ordered& graph)
      : graph_(graph), parent_(graph.cost.size(), none), last_(graph.cost.size()), cost_(graph.cost.size()) {}

  void add(int32_t p) {
    parent_[p] = last_[p] = p;
    cost_[p] = graph_.cost[p];
  }
  void remove(int32_t p) { parent_[p] = none; }
  bool contains(int32_t p) const { return parent_[p] != none; }
  int32_t find(int32_t p) {
    while (parent_[p] != p) p = parent_[p] = parent_[parent_[p]];
    return p;
  }
  void join(int32_t a, int32_t b) {
    a = find(a), b = find(b);
    if (a == b) return;
    if (a > b) std::swap(a, b);
    parent_[b] = a;
    cost_[a] += cost_[b];
    last_[a] = std::max(last_[a], last_[b]);
  }
  bool is_root(int32_t p) const { return parent_[p] == p; }
  int64_t cost(int32_t root) const { return cost_[root]; }
  int32_t last(int32_t root) const { return last_[root]; }

 private:
  static constexpr int32_t none = -1;
  const Ordered& graph_;
  std::vector<int32_t> parent_, last_;
  std::vector<int64_t> cost_;
};

}  // namespace reforward::graph
