// What a graph must be, and what a set of stored vertices costs by definition.

#include "reforward/graph.h"

#include <algorithm>
#include <string>

#include "reforward/error.h"

namespace reforward {
namespace {

constexpr int64_t most_cost = int64_t{1} << 58;

[[noreturn]] void refuse(const std::string& what) {
  throw FormatError("The graph " + what + "; see docs/graph-format.md for what a graph is.");
}

std::string vertex_name(const Graph& graph, std::size_t vertex) {
  return "vertex " + std::to_string(graph.ids[vertex]);
}

void check_costs(const Graph& graph) {
  int64_t total = 0;
  for (std::size_t v = 0; v < graph.costs.size(); ++v) {
    if (graph.costs[v] < 0) refuse("has a negative cost at " + vertex_name(graph, v));
    if (graph.costs[v] > most_cost - total) refuse("has costs that add up to more than 2^58");
    total += graph.costs[v];
  }
}

void check_ends(const Graph& graph, const std::vector<int32_t>& waits) {
  for (std::size_t v = 0; v < waits.size(); ++v) {
    const bool source = static_cast<int32_t>(v) == graph.source, target = static_cast<int32_t>(v) == graph.target;
    if (waits[v] == 0 && !source) refuse("has no path from its source to " + vertex_name(graph, v));
    if (waits[v] != 0 && source) refuse("has an edge into its source");
    if (graph.successors[v].empty() && !target) refuse("has no path from " + vertex_name(graph, v) + " to its target");
    if (!graph.successors[v].empty() && target) refuse("has an edge out of its target");
  }
}

void check_acyclic(const Graph& graph, std::vector<int32_t> waits) {
  std::vector<int32_t> ready{graph.source};
  std::size_t seen = 0;
  while (!ready.empty()) {
    const int32_t vertex = ready.back();
    ready.pop_back();
    ++seen;
    for (const int32_t next : graph.successors[vertex]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  if (seen == waits.size()) return;
  const auto stuck = std::find_if(waits.begin(), waits.end(), [](int32_t n) { return n > 0; });
  refuse("has a cycle before or at " + vertex_name(graph, static_cast<std::size_t>(stuck - waits.begin())));
}

/// By vertex: its place in the order.
std::vector<int32_t> check_order(const Graph& graph, const std::vector<int32_t>& order) {
  const std::size_t count = graph.ids.size();
  if (order.size() != count) refuse("has an order that does not name every vertex once");
  std::vector<int32_t> position(count, -1);
  for (std::size_t p = 0; p < count; ++p) {
    const int32_t vertex = order[p];
    if (vertex < 0 || static_cast<std::size_t>(vertex) >= count || position[vertex] >= 0) {
      refuse("has an order that does not name every vertex once");
    }
    position[vertex] = static_cast<int32_t>(p);
  }
  for (std::size_t v = 0; v < count; ++v) {
    for (const int32_t next : graph.successors[v]) {
      if (position[next] < position[v]) {
        refuse("has an order that is not topological: " + vertex_name(graph, static_cast<std::size_t>(next)) +
               " comes before " + vertex_name(graph, v));
      }
    }
  }
  return position;
}

}  // namespace

void validate(const Graph& graph) {
  const std::size_t count = graph.ids.size();
  if (count < 2) refuse("has fewer than two vertices");
  if (graph.costs.size() != count || graph.successors.size() != count) refuse("has lists of different lengths");
  const auto there = [count](int32_t v) { return v >= 0 && static_cast<std::size_t>(v) < count; };
  if (!there(graph.source) || !there(graph.target)) refuse("has a source or target that is not there");
  if (graph.source == graph.target) refuse("has the same source and target");
  check_costs(graph);
  std::vector<int32_t> waits(count, 0);
  std::vector<int32_t> seen_from(count, -1);
  for (std::size_t v = 0; v < count; ++v) {
    for (const int32_t next : graph.successors[v]) {
      if (!there(next)) refuse("has an edge to a vertex that is not there");
      if (static_cast<std::size_t>(next) == v) refuse("has an edge from " + vertex_name(graph, v) + " to itself");
      if (seen_from[next] == static_cast<int32_t>(v)) refuse("has an edge twice");
      seen_from[next] = static_cast<int32_t>(v);
      ++waits[next];
    }
  }
  check_ends(graph, waits);
  check_acyclic(graph, waits);
  if (!graph.order.empty()) check_order(graph, graph.order);
}

GraphAnswer evaluate(const Graph& graph, const std::vector<int32_t>& stored, const std::vector<int32_t>& order) {
  const std::vector<int32_t> position = check_order(graph, order);
  const std::size_t count = graph.ids.size();
  GraphAnswer answer;
  answer.order = order;
  answer.stored = stored;
  std::vector<char> removed(count, 0);
  removed[graph.source] = removed[graph.target] = 1;
  for (const int32_t vertex : stored) {
    if (vertex < 0 || static_cast<std::size_t>(vertex) >= count || removed[vertex] != 0) {
      throw InputError(
          "The stored set names a vertex twice, one that is not there, the source or the target; name "
          "other vertices, each once.");
    }
    removed[vertex] = 1;
    answer.stored_cost += graph.costs[vertex];
  }
  std::vector<std::vector<int32_t>> neighbours(count);
  for (std::size_t v = 0; v < count; ++v) {
    for (const int32_t next : graph.successors[v]) {
      neighbours[v].push_back(next);
      neighbours[next].push_back(static_cast<int32_t>(v));
    }
  }
  // Each component is walked from any of its vertices; begins and ends are where it is alive.
  std::vector<int64_t> begins(count + 1, 0), ends(count + 1, 0);
  for (std::size_t v = 0; v < count; ++v) {
    if (removed[v] != 0) continue;
    int64_t cost = 0;
    int32_t first = position[v], last = position[v];
    std::vector<int32_t> walk{static_cast<int32_t>(v)};
    removed[v] = 1;
    while (!walk.empty()) {
      const int32_t vertex = walk.back();
      walk.pop_back();
      cost += graph.costs[vertex];
      first = std::min(first, position[vertex]);
      last = std::max(last, position[vertex]);
      for (const int32_t next : neighbours[vertex]) {
        if (removed[next] != 0) continue;
        removed[next] = 1;
        walk.push_back(next);
      }
    }
    begins[first] += cost;
    ends[last] += cost;
  }
  int64_t alive = 0;
  for (std::size_t t = 0; t < count; ++t) {
    alive += begins[t];
    answer.local_cost = std::max(answer.local_cost, alive);
    alive -= ends[t];
  }
  answer.cost = answer.stored_cost + answer.local_cost;
  return answer;
}

}  // namespace reforward
