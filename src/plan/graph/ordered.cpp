#include "plan/graph/ordered.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "plan/graph/merging.h"
#include "reforward/error.h"

namespace reforward::graph {

Ordered::Ordered(const Graph& graph, std::vector<int32_t> topological_order) : order(std::move(topological_order)) {
  const std::size_t count = order.size();
  std::vector<int32_t> position(count);
  for (std::size_t p = 0; p < count; ++p) position[order[p]] = static_cast<int32_t>(p);
  cost.resize(count);
  before.resize(count);
  after.resize(count);
  last_use.resize(count);
  int64_t divisor = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const auto vertex = static_cast<std::size_t>(order[p]);
    if (p > 0 && p + 1 < count) cost[p] = graph.costs[vertex];
    divisor = std::gcd(divisor, cost[p]);
    for (const int32_t next : graph.successors[vertex]) after[p].push_back(position[next]);
    std::sort(after[p].begin(), after[p].end());
    for (const int32_t next : after[p]) before[next].push_back(static_cast<int32_t>(p));
    last_use[p] = after[p].empty() ? static_cast<int32_t>(p) : after[p].back();
  }
  unit = std::max<int64_t>(divisor, 1);
}

Choice price(const Ordered& graph, std::vector<char> stored) {
  Choice choice;
  const int32_t count = graph.size();
  Merging components(graph);
  for (int32_t p = 1; p + 1 < count; ++p) {
    if (stored[p] != 0) {
      choice.stored_cost += graph.cost[p];
      continue;
    }
    components.add(p);
    for (const int32_t q : graph.before[p]) {
      if (components.contains(q)) components.join(q, p);
    }
  }
  std::vector<int64_t> ends(static_cast<std::size_t>(count) + 1, 0);
  int64_t alive = 0;
  for (int32_t p = 1; p + 1 < count; ++p) {
    alive -= ends[p];
    if (components.is_root(p)) {
      alive += components.cost(p);
      ends[components.last(p) + 1] += components.cost(p);
      choice.local_cost = std::max(choice.local_cost, alive);
    }
  }
  choice.stored = std::move(stored);
  return choice;
}

namespace {

/// Kahn's algorithm with the ready vertices on a stack: a branch is followed to its end.
std::vector<int32_t> depth_first(const Graph& graph, std::vector<int32_t> waits, bool first_branch_first) {
  std::vector<int32_t> order, ready{graph.source};
  while (!ready.empty()) {
    const int32_t vertex = ready.back();
    ready.pop_back();
    order.push_back(vertex);
    auto next = graph.successors[vertex];
    if (first_branch_first) std::reverse(next.begin(), next.end());
    for (const int32_t successor : next) {
      if (--waits[successor] == 0) ready.push_back(successor);
    }
  }
  return order;
}

std::vector<int32_t> by_number(const Graph& graph, std::vector<int32_t> waits) {
  std::vector<int32_t> order;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  ready.push(graph.source);
  while (!ready.empty()) {
    const int32_t vertex = ready.top();
    ready.pop();
    order.push_back(vertex);
    for (const int32_t successor : graph.successors[vertex]) {
      if (--waits[successor] == 0) ready.push(successor);
    }
  }
  return order;
}

}  // namespace

std::vector<std::vector<int32_t>> candidate_orders(const Graph& graph) {
  if (!graph.order.empty()) return {graph.order};
  std::vector<int32_t> waits(graph.ids.size(), 0);
  for (const auto& list : graph.successors) {
    for (const int32_t next : list) ++waits[next];
  }
  std::vector<std::vector<int32_t>> orders{depth_first(graph, waits, true)};
  for (auto& order : {depth_first(graph, waits, false), by_number(graph, waits)}) {
    if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
  }
  return orders;
}

GraphAnswer to_answer(const Graph& graph, const Ordered& ordered, const Choice& choice) {
  std::vector<int32_t> stored;
  for (int32_t p = 0; p < ordered.size(); ++p) {
    if (choice.stored[p] != 0) stored.push_back(ordered.order[p]);
  }
  std::sort(stored.begin(), stored.end());
  GraphAnswer answer = evaluate(graph, stored, ordered.order);
  invariant(answer.stored_cost == choice.stored_cost && answer.local_cost == choice.local_cost,
            "a search had another cost in mind than the definition gives");
  return answer;
}

}  // namespace reforward::graph
