#include "plan/graph/separation.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace reforward::graph {
namespace {

/// Neighbours both ways.
Subgraph undirected(const Subgraph& graph) {
  Subgraph neighbours(graph.size());
  for (std::size_t v = 0; v < graph.size(); ++v) {
    for (const int32_t next : graph[v]) {
      neighbours[v].push_back(next);
      neighbours[next].push_back(static_cast<int32_t>(v));
    }
  }
  return neighbours;
}

/// Between `a` and `b`.
struct Independent {
  int32_t a, b;
  std::vector<int32_t> inside;
  std::size_t edges;
};

/// One depth-first walk of the graph without `removed`, from the target: what hangs
/// from each articulation point and does not hold the source.
class HangingParts {
 public:
  HangingParts(const Subgraph& neighbours, int32_t removed)
      : neighbours_(neighbours), removed_(removed), entered_(neighbours.size(), -1), lowest_(neighbours.size()) {
    walk(static_cast<int32_t>(neighbours.size()) - 1);
  }

  /// (articulation point, vertices that hang from it).
  std::vector<std::pair<int32_t, std::vector<int32_t>>> found;

 private:
  struct Frame {
    int32_t vertex, parent;
    std::size_t next = 0;
  };

  void enter(int32_t vertex, int32_t parent) {
    entered_[vertex] = lowest_[vertex] = static_cast<int32_t>(sequence_.size());
    sequence_.push_back(vertex);
    frames_.push_back({vertex, parent});
  }

  void walk(int32_t root) {
    enter(root, -1);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const int32_t vertex = frame.vertex;
      if (frame.next < neighbours_[vertex].size()) {
        const int32_t next = neighbours_[vertex][frame.next++];
        if (next == removed_ || next == frame.parent) continue;
        if (entered_[next] < 0) {
          enter(next, vertex);
        } else {
          lowest_[vertex] = std::min(lowest_[vertex], entered_[next]);
        }
        continue;
      }
      const int32_t parent = frame.parent;
      frames_.pop_back();
      if (parent < 0) continue;
      lowest_[parent] = std::min(lowest_[parent], lowest_[vertex]);
      if (lowest_[vertex] >= entered_[parent]) leave(parent, vertex);
    }
  }

  /// Everything entered since `vertex` hangs from `parent`.
  void leave(int32_t parent, int32_t vertex) {
    constexpr int32_t source = 0;
    if (entered_[source] >= entered_[vertex]) return;
    std::vector<int32_t> inside(sequence_.begin() + entered_[vertex], sequence_.end());
    found.emplace_back(parent, std::move(inside));
  }

  const Subgraph& neighbours_;
  int32_t removed_;
  std::vector<int32_t> entered_, lowest_;
  std::vector<int32_t> sequence_;
  std::vector<Frame> frames_;
};

std::vector<Independent> all_independent(const Subgraph& graph, const Subgraph& neighbours) {
  const auto target = static_cast<int32_t>(graph.size()) - 1;
  const auto can_end = [&](int32_t v) { return v == 0 || v == target || neighbours[v].size() > 2; };
  std::vector<Independent> all;
  for (int32_t a = 0; a < target; ++a) {
    if (!can_end(a)) continue;
    std::vector<std::vector<int32_t>> inside(graph.size());
    std::vector<int32_t> ends(graph[a]);
    for (auto& [b, vertices] : HangingParts(neighbours, a).found) {
      ends.push_back(b);
      inside[b].insert(inside[b].end(), vertices.begin(), vertices.end());
    }
    std::sort(ends.begin(), ends.end(), std::greater<>());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (const int32_t b : ends) {
      if (b <= a || !can_end(b) || (a == 0 && b == target)) continue;
      std::size_t edges = std::binary_search(graph[a].begin(), graph[a].end(), b) ? 1 : 0;
      std::size_t ends_met = 0;
      for (const int32_t v : inside[b]) {
        for (const int32_t next : neighbours[v]) ends_met += next == a || next == b ? 2 : 1;
      }
      edges += ends_met / 2;
      all.push_back({a, b, std::move(inside[b]), edges});
    }
  }
  return all;
}

}  // namespace

std::vector<int32_t> splitting_vertices(const Subgraph& graph) {
  // An edge that passes a vertex by lets a path do so.
  std::vector<int32_t> passing(graph.size() + 1, 0);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    for (const int32_t next : graph[v]) {
      ++passing[v + 1];
      --passing[next];
    }
  }
  std::vector<int32_t> splitting;
  int32_t now = 0;
  for (std::size_t v = 1; v + 1 < graph.size(); ++v) {
    now += passing[v];
    if (now == 0) splitting.push_back(static_cast<int32_t>(v));
  }
  return splitting;
}

std::vector<std::vector<int32_t>> branches_of(const Subgraph& graph) {
  const auto target = static_cast<int32_t>(graph.size()) - 1;
  const Subgraph neighbours = undirected(graph);
  std::vector<char> seen(graph.size(), 0);
  seen[0] = seen[target] = 1;
  std::vector<std::vector<int32_t>> branches;
  for (int32_t v = 1; v < target; ++v) {
    if (seen[v] != 0) continue;
    std::vector<int32_t> branch{v};
    seen[v] = 1;
    for (std::size_t i = 0; i < branch.size(); ++i) {
      for (const int32_t next : neighbours[branch[i]]) {
        if (std::exchange(seen[next], 1) == 0) branch.push_back(next);
      }
    }
    branch.push_back(0);
    branch.push_back(target);
    std::sort(branch.begin(), branch.end());
    branches.push_back(std::move(branch));
  }
  return branches;
}

std::vector<std::vector<int32_t>> independent_parts(const Subgraph& graph) {
  const Subgraph neighbours = undirected(graph);
  auto all = all_independent(graph, neighbours);
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.edges > y.edges; });

  std::vector<std::vector<char>> taken(graph.size());
  for (std::size_t v = 0; v < graph.size(); ++v) taken[v].assign(graph[v].size(), 0);
  const auto mark = [&](int32_t from, int32_t to) -> char& {
    return taken[from][std::lower_bound(graph[from].begin(), graph[from].end(), to) - graph[from].begin()];
  };
  std::vector<char> member(graph.size(), 0);
  std::vector<std::vector<int32_t>> parts;
  for (auto& independent : all) {
    auto& vertices = independent.inside;
    vertices.push_back(independent.a);
    vertices.push_back(independent.b);
    std::sort(vertices.begin(), vertices.end());
    for (const int32_t v : vertices) member[v] = 1;
    const auto each_edge = [&](auto visit) {
      for (const int32_t v : vertices) {
        for (const int32_t next : graph[v]) {
          if (member[next] != 0) visit(v, next);
        }
      }
    };
    bool is_free = true;
    each_edge([&](int32_t from, int32_t to) { is_free = is_free && mark(from, to) == 0; });
    if (is_free) each_edge([&](int32_t from, int32_t to) { mark(from, to) = 1; });
    for (const int32_t v : vertices) member[v] = 0;
    if (is_free) parts.push_back(std::move(vertices));
  }
  // What is left lies in parts that cross: each edge by itself.
  for (std::size_t v = 0; v < graph.size(); ++v) {
    for (std::size_t e = 0; e < graph[v].size(); ++e) {
      if (taken[v][e] == 0) parts.push_back({static_cast<int32_t>(v), graph[v][e]});
    }
  }
  return parts;
}

}  // namespace reforward::graph
