#include <algorithm>
#include <numeric>

#include "reforward/error.h"
#include "reforward/graph.h"

namespace reforward {

Graph graph_of(const Trace& trace) {
  validate(trace);
  Graph graph;
  graph.network = trace.model;
  graph.cost_unit = "bytes";
  graph.source = 0;
  graph.ids.push_back(0);
  graph.costs.push_back(0);
  // An in-place op makes a new version: a vertex that costs nothing more than what it wrote over.
  std::vector<int32_t> vertex(trace.values.size(), graph.source);
  graph.successors.emplace_back();
  for (const Op& op : trace.ops) {
    for (const ValueId output : op.outputs) {
      const auto v = static_cast<int32_t>(graph.ids.size());
      const Value& value = trace.values[output.at()];
      graph.ids.push_back(v);
      graph.costs.push_back(value.overwrites.valid() ? 0 : value.bytes);
      graph.successors.emplace_back();
      std::vector<int32_t> from;
      for (const ValueId input : op.inputs) from.push_back(vertex[input.at()]);
      if (value.overwrites.valid()) from.push_back(vertex[value.overwrites.at()]);
      // Parameters say nothing of where in the network an op is.
      std::erase(from, graph.source);
      if (from.empty()) from.push_back(graph.source);
      for (const int32_t p : from) {
        auto& next = graph.successors[static_cast<std::size_t>(p)];
        if (next.empty() || next.back() != v) next.push_back(v);
      }
      vertex[output.at()] = v;
    }
  }
  graph.target = static_cast<int32_t>(graph.ids.size());
  graph.ids.push_back(graph.target);
  graph.costs.push_back(0);
  graph.successors.emplace_back();
  for (int32_t v = 0; v < graph.target; ++v) {
    if (graph.successors[static_cast<std::size_t>(v)].empty()) {
      graph.successors[static_cast<std::size_t>(v)].push_back(graph.target);
    }
  }
  graph.order.resize(graph.ids.size());
  std::iota(graph.order.begin(), graph.order.end(), 0);
  validate(graph);
  return graph;
}

}  // namespace reforward
