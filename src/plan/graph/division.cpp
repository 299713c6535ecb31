#include "plan/graph/division.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "plan/graph/separation.h"

namespace reforward::graph {
namespace {

/// Vertices of a part that is not yet divided.
struct Part {
  std::vector<int32_t> vertices;  ///< ascending: the source is first, the target last
  bool direct = false;            ///< an edge from source to target belongs to it
};

class Divider {
 public:
  explicit Divider(const Ordered& graph) : graph_(graph), local_(graph.cost.size(), -1) {}

  std::vector<Division> run() {
    Part whole;
    whole.vertices.resize(graph_.cost.size());
    std::iota(whole.vertices.begin(), whole.vertices.end(), 0);
    whole.direct = has_edge(0, graph_.size() - 1);
    add(std::move(whole));
    for (std::size_t d = 0; d < divisions_.size(); ++d) {
      const Part part = std::exchange(waiting_[d], {});
      if (part.vertices.size() > 2) divide(d, part);
    }
    return std::move(divisions_);
  }

 private:
  bool has_edge(int32_t from, int32_t to) const {
    const auto& after = graph_.after[from];
    return std::binary_search(after.begin(), after.end(), to);
  }

  int32_t add(Part part) {
    Division division;
    division.source = part.vertices.front();
    division.target = part.vertices.back();
    for (std::size_t i = 1; i + 1 < part.vertices.size(); ++i) division.cost += graph_.cost[part.vertices[i]];
    divisions_.push_back(std::move(division));
    waiting_.push_back(std::move(part));
    return static_cast<int32_t>(divisions_.size() - 1);
  }

  void divide(std::size_t d, const Part& part) {
    const Subgraph subgraph = induced(part);
    std::vector<int32_t> parts;
    if (const auto splitting = splitting_vertices(subgraph); !splitting.empty()) {
      divisions_[d].kind = Division::Kind::linear;
      for (const int32_t v : splitting) divisions_[d].between.push_back(part.vertices[v]);
      parts = linear_parts(part, splitting);
    } else if (const auto branches = branches_of(subgraph); part.direct || branches.size() > 1) {
      divisions_[d].kind = Division::Kind::branched;
      if (part.direct) parts.push_back(add({{part.vertices.front(), part.vertices.back()}, true}));
      for (const auto& branch : branches) parts.push_back(add({names(part, branch), false}));
    } else {
      divisions_[d].kind = Division::Kind::complicated;
      std::vector<int32_t> ends;
      for (const auto& independent : independent_parts(subgraph)) {
        ends.push_back(part.vertices[independent.front()]);
        ends.push_back(part.vertices[independent.back()]);
        Part next{names(part, independent), false};
        next.direct = has_edge(next.vertices.front(), next.vertices.back());
        parts.push_back(add(std::move(next)));
      }
      std::sort(ends.begin(), ends.end());
      ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
      for (const int32_t v : ends) {
        if (v != divisions_[d].source && v != divisions_[d].target) divisions_[d].between.push_back(v);
      }
    }
    divisions_[d].parts = std::move(parts);
  }

  /// The part by itself, its vertices numbered from 0.
  Subgraph induced(const Part& part) {
    const auto count = static_cast<int32_t>(part.vertices.size());
    for (int32_t i = 0; i < count; ++i) local_[part.vertices[i]] = i;
    Subgraph subgraph(part.vertices.size());
    for (int32_t i = 0; i < count; ++i) {
      for (const int32_t next : graph_.after[part.vertices[i]]) {
        const int32_t j = local_[next];
        if (j >= 0 && (part.direct || i > 0 || j + 1 < count)) subgraph[i].push_back(j);
      }
    }
    for (const int32_t v : part.vertices) local_[v] = -1;
    return subgraph;
  }

  static std::vector<int32_t> names(const Part& part, const std::vector<int32_t>& numbers) {
    std::vector<int32_t> vertices;
    for (const int32_t i : numbers) vertices.push_back(part.vertices[i]);
    return vertices;
  }

  std::vector<int32_t> linear_parts(const Part& part, const std::vector<int32_t>& splitting) {
    std::vector<int32_t> parts;
    auto begin = part.vertices.begin();
    const auto add_until = [&](std::vector<int32_t>::const_iterator end) {
      Part next{{begin, end + 1}, false};
      next.direct = has_edge(*begin, *end);
      parts.push_back(add(std::move(next)));
      begin = end;
    };
    for (const int32_t v : splitting) add_until(part.vertices.begin() + v);
    add_until(part.vertices.end() - 1);
    return parts;
  }

  const Ordered& graph_;
  std::vector<int32_t> local_;
  std::vector<Division> divisions_;
  std::vector<Part> waiting_;  ///< by division
};

}  // namespace

std::vector<Division> divide(const Ordered& graph) { return Divider(graph).run(); }

}  // namespace reforward::graph
