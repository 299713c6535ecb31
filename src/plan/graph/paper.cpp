// Feng and Huang, "Optimal Gradient Checkpoint Search for Arbitrary Computation Graphs"
// (CVPR 2021), algorithms 1 to 3: for a bound on the local term, a part within it is
// re-forwarded as a whole, and one above it is divided. Of a linear part the stored
// vertices are a shortest path over what is accessible: vertices between which a run
// stays within the bound. A branched part stores nothing itself, a complicated one all
// vertices that part its parts.

#include "plan/graph/paper.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "plan/graph/division.h"
#include "plan/graph/local_terms.h"

namespace reforward::graph {
namespace {

constexpr int64_t most_probes = 100000;

class Solver {
 public:
  explicit Solver(const Ordered& graph)
      : graph_(graph), tree_(divide(graph)), stored_(tree_.size()), from_(tree_.size()) {}

  Choice run() {
    int64_t best = tree_[0].cost;  // nothing stored
    best_.assign(graph_.cost.size(), 0);
    search_local_terms(best, graph_.unit, most_probes, [&](int64_t local, int64_t limit) -> std::optional<Probe> {
      solve(local);
      if (stored_[0] >= limit) return {};
      std::vector<char> set(graph_.cost.size(), 0);
      const Probe found{stored_[0], collect(local, set)};
      if (found.stored_cost + found.local_cost < limit) best_ = std::move(set);
      return found;
    });
    return price(graph_, std::move(best_));
  }

 private:
  /// The least stored cost of every part, parts of parts first.
  void solve(int64_t local) {
    for (std::size_t d = tree_.size(); d-- > 0;) {
      const Division& division = tree_[d];
      stored_[d] = 0;
      if (division.cost <= local) continue;
      if (division.kind == Division::Kind::linear) {
        stored_[d] = shortest_path(division, local, from_[d]);
        continue;
      }
      for (const int32_t part : division.parts) stored_[d] += stored_[part];
      for (const int32_t v : division.between) stored_[d] += graph_.cost[v];
    }
  }

  /// Over the vertices of a linear part, source and target at its ends; `from` says
  /// from which one each is reached.
  int64_t shortest_path(const Division& linear, int64_t local, std::vector<int32_t>& from) const {
    const std::size_t count = linear.parts.size();
    std::vector<int64_t> least(count + 1, std::numeric_limits<int64_t>::max());
    from.assign(count + 1, -1);
    least[0] = 0;
    for (std::size_t i = 0; i < count; ++i) {
      int64_t run = 0;
      for (std::size_t j = i + 1; j <= count; ++j) {
        const auto part = static_cast<std::size_t>(linear.parts[j - 1]);
        run += tree_[part].cost;
        const bool divided = run > local;
        if (divided && j > i + 1) break;
        const int64_t end = j < count ? graph_.cost[linear.between[j - 1]] : 0;
        const int64_t cost = least[i] + (divided ? stored_[part] : 0) + end;
        if (cost < least[j]) {
          least[j] = cost;
          from[j] = static_cast<int32_t>(i);
        }
        if (divided) break;
        run += end;
      }
    }
    return least[count];
  }

  /// Marks what is stored; returns the dearest part that is not divided.
  int64_t collect(int64_t local, std::vector<char>& set) const {
    int64_t dearest = 0;
    std::vector<int32_t> divide{0};
    while (!divide.empty()) {
      const auto d = static_cast<std::size_t>(divide.back());
      divide.pop_back();
      const Division& division = tree_[d];
      if (division.cost <= local) {
        dearest = std::max(dearest, division.cost);
      } else if (division.kind == Division::Kind::linear) {
        for (auto j = static_cast<int32_t>(division.parts.size()); j > 0; j = from_[d][j]) {
          const int32_t i = from_[d][j];
          if (i > 0) set[division.between[i - 1]] = 1;
          if (j == i + 1) {
            divide.push_back(division.parts[i]);
            continue;
          }
          int64_t run = 0;
          for (int32_t k = i; k < j; ++k) {
            run += tree_[division.parts[k]].cost + (k > i ? graph_.cost[division.between[k - 1]] : 0);
          }
          dearest = std::max(dearest, run);
        }
      } else {
        for (const int32_t v : division.between) set[v] = 1;
        divide.insert(divide.end(), division.parts.begin(), division.parts.end());
      }
    }
    return dearest;
  }

  const Ordered& graph_;
  std::vector<Division> tree_;
  std::vector<int64_t> stored_;             ///< by division, under the bound tried last
  std::vector<std::vector<int32_t>> from_;  ///< by linear division
  std::vector<char> best_;
};

}  // namespace

Choice paper_choice(const Ordered& graph) { return Solver(graph).run(); }

}  // namespace reforward::graph
