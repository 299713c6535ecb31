// The shortest path over cuts (docs/how-it-works.md). A cut after position i stores
// frontier(i), what was made at or before i and is used after it. What a next cut at j
// adds is made in (i, j] and used after j; what is left of (i, j] is re-forwarded, and
// its components count while they are alive. Both depend on (i, j) alone.

#include "plan/graph/cuts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "plan/graph/chain.h"
#include "plan/graph/local_terms.h"
#include "plan/graph/merging.h"
#include "plan/graph/range_max.h"

namespace reforward::graph {
namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();
constexpr int32_t most_cuts = 4000;
constexpr int64_t most_probes = 500;

/// From one cut to another, by their places in the list of positions.
struct Step {
  int32_t to;
  int64_t local, added;
};

/// What is re-forwarded after a cut, as the next cut moves away from it.
class Segment {
 public:
  explicit Segment(const Ordered& graph)
      : graph_(graph), alive_(graph.cost.size()), components_(graph), ready_(graph.cost.size()) {
    for (int32_t p = 1; p + 1 < graph.size(); ++p) ready_[graph.last_use[p]].push_back(p);
  }

  void begin(int32_t cut) {
    for (const int32_t p : inside_) {
      if (components_.is_root(p)) show(p, -1);
    }
    for (const int32_t p : inside_) components_.remove(p);
    inside_.clear();
    cut_ = end_ = cut;
    added_ = 0;
  }
  /// The next cut, one position further.
  void extend() {
    ++end_;
    added_ += graph_.cost[end_];
    for (const int32_t p : ready_[end_]) {
      if (p > cut_) take(p);
    }
  }
  int64_t local() const { return alive_.largest(); }
  int64_t added() const { return added_; }

 private:
  void show(int32_t root, int sign) { alive_.add(root, components_.last(root), sign * components_.cost(root)); }

  /// Position p is not used after the next cut: it is re-forwarded, not stored.
  void take(int32_t p) {
    added_ -= graph_.cost[p];
    components_.add(p);
    inside_.push_back(p);
    const auto join = [&](int32_t q) {
      if (!components_.contains(q)) return;
      const int32_t root = components_.find(q);
      if (root == components_.find(p)) return;
      show(root, -1);
      components_.join(root, p);
    };
    for (const int32_t q : graph_.before[p]) join(q);
    for (const int32_t q : graph_.after[p]) join(q);
    show(components_.find(p), +1);
  }

  const Ordered& graph_;
  RangeMax alive_;  ///< cost of the components alive, by position
  Merging components_;
  std::vector<std::vector<int32_t>> ready_;  ///< by position: what is used there for the last time
  std::vector<int32_t> inside_;
  int32_t cut_ = 0, end_ = 0;
  int64_t added_ = 0;
};

/// Positions after which to cut, the source's and the target's among them; in each
/// stretch of equal length the one that stores least.
std::vector<int32_t> cut_positions(const Ordered& graph, int32_t most) {
  std::vector<int64_t> frontier(graph.cost.size(), 0);
  std::vector<int64_t> leaves(graph.cost.size() + 1, 0);
  int64_t crossing = 0;
  for (int32_t p = 0; p < graph.size(); ++p) {
    crossing += graph.cost[p] - leaves[p];
    leaves[graph.last_use[p]] += graph.cost[p];
    if (graph.last_use[p] == p) crossing -= graph.cost[p];
    frontier[p] = crossing;
  }
  const int32_t last = graph.size() - 1;
  const int32_t stretch = std::max<int32_t>(1, (last + most - 1) / most);
  std::vector<int32_t> positions{0};
  for (int32_t begin = 1; begin < last; begin += stretch) {
    const auto first = frontier.begin() + begin;
    const auto best = std::min_element(first, frontier.begin() + std::min(begin + stretch, last));
    positions.push_back(static_cast<int32_t>(best - frontier.begin()));
  }
  positions.push_back(last);
  return positions;
}

/// An upper end for local terms that can belong to a cost below `best`.
int64_t largest_local(const Ordered& graph, int64_t best) {
  const Chain chain = dearest_path(graph);
  int64_t local = best;
  for (int round = 0; round < 50; ++round) {
    const int64_t lower = best - chain.least_stored(local).stored_cost;
    if (lower >= local) break;
    local = lower;
  }
  return local;
}

class Search {
 public:
  Search(const Ordered& graph, const std::vector<int32_t>& positions, const Choice& best)
      : graph_(graph), positions_(positions), best_(best), steps_(positions.size()) {
    const int64_t largest = largest_local(graph, best.cost());
    Segment segment(graph);
    for (std::size_t i = 0; i + 1 < positions.size(); ++i) {
      segment.begin(positions[i]);
      int32_t at = positions[i];
      for (std::size_t j = i + 1; j < positions.size(); ++j) {
        for (; at < positions[j]; ++at) segment.extend();
        if (segment.local() > largest) break;
        steps_[i].push_back({static_cast<int32_t>(j), segment.local(), segment.added()});
      }
    }
  }

  Choice run() {
    int64_t best = best_.cost();
    search_local_terms(best, graph_.unit, most_probes,
                       [this](int64_t local, int64_t limit) { return probe(local, limit); });
    return best_;
  }

 private:
  std::optional<Probe> probe(int64_t local, int64_t limit) {
    std::vector<int64_t> least(positions_.size(), never);
    std::vector<int32_t> from(positions_.size(), -1);
    least[0] = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (least[i] >= limit) continue;
      for (const Step& step : steps_[i]) {
        if (step.local > local) break;
        if (least[i] + step.added >= least[step.to]) continue;
        least[step.to] = least[i] + step.added;
        from[step.to] = static_cast<int32_t>(i);
      }
    }
    if (least.back() >= limit) return {};
    std::vector<int32_t> cuts;
    for (int32_t c = from.back(); c > 0; c = from[c]) cuts.push_back(positions_[c]);
    std::reverse(cuts.begin(), cuts.end());
    Choice choice = price(graph_, stored_by_cuts(graph_, cuts));
    const Probe found{choice.stored_cost, choice.local_cost};
    if (choice.cost() < best_.cost()) best_ = std::move(choice);
    return found;
  }

  const Ordered& graph_;
  const std::vector<int32_t>& positions_;
  Choice best_;
  std::vector<std::vector<Step>> steps_;
};

}  // namespace

std::vector<char> stored_by_cuts(const Ordered& graph, const std::vector<int32_t>& cuts) {
  std::vector<char> stored(graph.cost.size(), 0);
  auto next = cuts.begin();
  for (int32_t p = 1; p + 1 < graph.size(); ++p) {
    while (next != cuts.end() && *next < p) ++next;
    // The first cut at or after p: what is used after it crosses it.
    if (next != cuts.end() && graph.last_use[p] > *next) stored[p] = 1;
  }
  return stored;
}

Choice sqrt_choice(const Ordered& graph) {
  const auto stretch = static_cast<int32_t>(std::lround(std::ceil(std::sqrt(static_cast<double>(graph.size() - 2)))));
  std::vector<int32_t> cuts;
  for (int32_t p = stretch; p + 1 < graph.size(); p += std::max(stretch, 1)) cuts.push_back(p);
  return price(graph, stored_by_cuts(graph, cuts));
}

Choice cuts_choice(const Ordered& graph) {
  Choice best = sqrt_choice(graph);
  Choice nothing_stored = price(graph, std::vector<char>(graph.cost.size(), 0));
  if (nothing_stored.cost() < best.cost()) best = std::move(nothing_stored);
  // Few cuts first: what they reach spares the full search its longest segments.
  for (const int32_t most : {64, most_cuts}) best = Search(graph, cut_positions(graph, most), best).run();
  return best;
}

}  // namespace reforward::graph
