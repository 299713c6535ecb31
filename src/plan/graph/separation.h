#pragma once

#include <cstdint>
#include <vector>

namespace reforward::graph {

/// Successors by vertex, ascending. Vertices are numbered topologically; 0 is the only
/// source and the last one the only target.
using Subgraph = std::vector<std::vector<int32_t>>;

/// Vertices through which every path goes, ascending; source and target left out.
std::vector<int32_t> splitting_vertices(const Subgraph& graph);

/// What is connected without source and target: of each such branch its vertices,
/// source and target included, ascending.
std::vector<std::vector<int32_t>> branches_of(const Subgraph& graph);

/// The largest independent parts of a graph with neither (Feng and Huang, section 3.2,
/// "complicated" segments): between two vertices a and b of more than two neighbours,
/// whatever only they connect with the rest. Largest (in edges) first, none shares an
/// edge with one before; together they have all edges. Each: its vertices, ascending.
///
/// Those vertices are the components without a and b that hold neither source nor
/// target. For each a they hang from the articulation points b of the graph without a
/// (Tarjan 1972), which takes O(vertices * edges) in all.
std::vector<std::vector<int32_t>> independent_parts(const Subgraph& graph);

}  // namespace reforward::graph
