#include "plan/graph/chain.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "plan/graph/local_terms.h"

namespace reforward::graph {

Chain::Chain(std::vector<int64_t> costs) : costs_(std::move(costs)), until_(costs_.size() + 1, 0) {
  std::partial_sum(costs_.begin(), costs_.end(), until_.begin() + 1);
}

Probe Chain::least_stored(int64_t local) const {
  // stored[i]: the least that is stored from i on if i itself is; the end is stored for nothing.
  const std::size_t count = costs_.size();
  std::vector<int64_t> stored(count + 1, 0);
  std::vector<std::size_t> next(count + 1, count);  // the stored one after i
  std::deque<std::size_t> candidates{count};  // the next stored ones in reach, the cheapest (and furthest) in front
  for (std::size_t i = count; i-- > 0;) {
    next[i] = candidates.front();
    stored[i] = costs_[i] + stored[next[i]];
    while (!candidates.empty() && stored[candidates.back()] >= stored[i]) candidates.pop_back();
    candidates.push_back(i);
    while (until_[candidates.front()] - until_[i] > local) candidates.pop_front();
  }
  std::size_t at = candidates.front();
  Probe found{stored[at], until_[at]};
  for (; at < count; at = next[at]) {
    found.local_cost = std::max(found.local_cost, until_[next[at]] - until_[at + 1]);
  }
  return found;
}

Chain dearest_path(const Ordered& graph) {
  std::vector<int64_t> sum(graph.cost.size(), 0);
  std::vector<int32_t> from(graph.cost.size(), -1);
  for (int32_t p = 1; p < graph.size(); ++p) {
    for (const int32_t q : graph.before[p]) {
      if (from[p] < 0 || sum[q] > sum[from[p]]) from[p] = q;
    }
    sum[p] = sum[from[p]] + graph.cost[p];
  }
  std::vector<int64_t> costs;
  for (int32_t p = from.back(); p > 0; p = from[p]) costs.push_back(graph.cost[p]);
  std::reverse(costs.begin(), costs.end());
  return Chain(std::move(costs));
}

int64_t path_bound(const Ordered& graph) {
  const Chain chain = dearest_path(graph);
  int64_t best = chain.total();  // all in one run
  // Cut short, the search still knows that no local term above the last has less.
  int64_t least_left = 0;
  constexpr int64_t most_probes = 2000;
  const bool finished =
      search_local_terms(best, graph.unit, most_probes, [&](int64_t local, int64_t limit) -> std::optional<Probe> {
        const Probe found = chain.least_stored(local);
        least_left = found.stored_cost;
        if (found.stored_cost >= limit) return {};
        return found;
      });
  return finished ? best : std::min(best, least_left);
}

}  // namespace reforward::graph
