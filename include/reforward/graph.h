#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reforward/trace.h"

namespace reforward {

/// The abstract problem of Feng and Huang, "Optimal Gradient Checkpoint Search for
/// Arbitrary Computation Graphs" (CVPR 2021; arXiv 1808.00079).
///
/// A DAG with one source and one target; every other vertex is a tensor with a
/// cost. A set S of vertices is stored; source and target are free and always
/// there. What is left without S, source and target falls into weakly connected
/// components, each of which is re-forwarded as a whole. A component is alive from
/// its first to its last vertex in a topological order:
///
///   cost(S) = sum of the costs of S
///           + max over positions t of the sum of the costs of the components alive at t
///
/// Vertices are named by their place in `ids` everywhere but in files.
struct Graph {
  std::string network;                           ///< label for people; may be empty
  std::string cost_unit;                         ///< label for people; may be empty
  std::vector<int64_t> ids;                      ///< of the vertices, as the file has them
  std::vector<int64_t> costs;                    ///< by vertex; those of source and target do not count
  std::vector<std::vector<int32_t>> successors;  ///< by vertex, each once
  int32_t source = 0;
  int32_t target = 0;
  std::vector<int32_t> order;  ///< a topological order; empty: free to choose
};

struct GraphAnswer {
  std::string solver;
  int64_t cost = 0;  ///< stored_cost + local_cost
  int64_t stored_cost = 0;
  int64_t local_cost = 0;
  std::vector<int32_t> stored;  ///< ascending
  std::vector<int32_t> order;   ///< the graph's own, or the best that was found
  int64_t lower_bound = 0;      ///< no answer costs less; where the order is free, in no order
  bool optimal = false;         ///< the lower bound meets the cost
  double solve_seconds = 0;
};

/// Throws FormatError (one sentence) unless sizes agree, costs are not negative and
/// add up to no more than 2^58, there is exactly one vertex without predecessor (the
/// source) and one without successor (the target), no cycle, and `order` is empty
/// or topological.
void validate(const Graph& graph);

/// The cost of a set of stored vertices (ascending), straight from the definition:
/// the judge of every solver, used by none. `order` must be topological. Sets cost,
/// stored_cost, local_cost, stored and order of the answer; throws InputError for a
/// vertex that is not there, source or target.
GraphAnswer evaluate(const Graph& graph, const std::vector<int32_t>& stored, const std::vector<int32_t>& order);

/// Every n^0.5-th place of the order is a cut (Chen et al. 2016).
GraphAnswer solve_graph_sqrt(const Graph& graph);
/// The shortest path over cuts of the order: a cut stores what was made before it and
/// is used after it; components of a segment count while they are alive.
GraphAnswer solve_graph_cuts(const Graph& graph);
/// The algorithm of the paper: the graph is divided into linear, branched and
/// complicated segments; for every candidate of the local term, segments above it are
/// divided further and linear ones solved by a shortest path over accessible vertices.
GraphAnswer solve_graph_paper(const Graph& graph);
/// The best we can do: the answer of `cuts`, improved by a dynamic programme along
/// the order (proves the optimum where its states are few) and by local search.
/// Without `seconds` a fixed amount of work, so that the same graph gives the same
/// answer; with it, work for so long unless the optimum is proven before.
GraphAnswer solve_graph_exact(const Graph& graph, std::optional<double> seconds = {});

/// By name: `paper`, `cuts`, `sqrt`, `exact`. Throws InputError for another.
GraphAnswer solve_graph(const Graph& graph, std::string_view solver, std::optional<double> seconds = {});
/// The names that solve_graph takes, in the order in which to show them.
const std::vector<std::string>& graph_solver_names();

/// The vertices and costs of a trace: a vertex for each value that an op made (cost:
/// bytes), edges from what an op read to what it made; externals are the source.
/// The order is the recorded one.
Graph graph_of(const Trace& trace);

/// The JSON form (docs/graph-format.md). Reading validates: FormatError in one
/// sentence, InputError for a file that cannot be read or is over 64 MiB.
Graph graph_from_json(std::string_view text);
std::string to_json(const Graph& graph);
Graph read_graph(const std::filesystem::path& path);
void write_graph(const std::filesystem::path& path, const Graph& graph);

}  // namespace reforward
