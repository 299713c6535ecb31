// The paper's abstract problem: every solver against all sets of stored vertices and
// the definition, and on the authors' own graphs.

#include "reforward/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>

#include "reforward/error.h"

namespace reforward {
namespace {

using Random = std::mt19937_64;

int32_t below(Random& random, int32_t count) { return static_cast<int32_t>(random() % static_cast<uint64_t>(count)); }

Graph empty_graph(int32_t count) {
  Graph graph;
  for (int32_t v = 0; v < count; ++v) graph.ids.push_back(v);
  graph.costs.assign(graph.ids.size(), 0);
  graph.successors.resize(graph.ids.size());
  graph.target = count - 1;
  graph.order.resize(graph.ids.size());
  std::iota(graph.order.begin(), graph.order.end(), 0);
  return graph;
}

void connect(Graph& graph, int32_t from, int32_t to) {
  auto& next = graph.successors[static_cast<std::size_t>(from)];
  if (std::find(next.begin(), next.end(), to) == next.end()) next.push_back(to);
}

/// Vertices that nothing leads to, or that lead nowhere, are tied to the ends.
Graph finish(Graph graph, Random& random) {
  std::vector<char> met(graph.ids.size(), 0);
  for (const auto& list : graph.successors) {
    for (const int32_t next : list) met[static_cast<std::size_t>(next)] = 1;
  }
  for (int32_t v = 1; v <= graph.target; ++v) {
    if (met[static_cast<std::size_t>(v)] == 0) connect(graph, 0, v);
    if (v < graph.target && graph.successors[static_cast<std::size_t>(v)].empty()) connect(graph, v, graph.target);
  }
  const int32_t dearest = below(random, 2) == 0 ? 4 : 1000;
  for (int32_t v = 1; v < graph.target; ++v) graph.costs[static_cast<std::size_t>(v)] = below(random, dearest);
  for (auto& list : graph.successors) std::sort(list.begin(), list.end());
  validate(graph);
  return graph;
}

Graph random_graph(Random& random, int32_t count, int32_t width) {
  Graph graph = empty_graph(count);
  for (int32_t v = 1; v < count; ++v) {
    for (int32_t edges = 1 + below(random, 2); edges > 0; --edges) {
      connect(graph, std::max(0, v - 1 - below(random, width)), v);
    }
  }
  return finish(std::move(graph), random);
}

Graph chain(Random& random, int32_t count) { return random_graph(random, count, 1); }

Graph tree(Random& random, int32_t count) {
  Graph graph = empty_graph(count);
  for (int32_t v = 1; v + 1 < count; ++v) connect(graph, below(random, v), v);
  return finish(std::move(graph), random);
}

/// Two chains with rungs.
Graph ladder(Random& random, int32_t count) {
  Graph graph = empty_graph(count);
  for (int32_t v = 1; v + 1 < count; ++v) {
    connect(graph, std::max(0, v - 2), v);
    if (v % 2 == 0 && below(random, 2) == 0) connect(graph, v - 1, v);
  }
  return finish(std::move(graph), random);
}

Graph parallel_branches(Random& random, int32_t count) {
  Graph graph = empty_graph(count);
  const int32_t branches = 2 + below(random, 3);
  for (int32_t v = 1; v + 1 < count; ++v) connect(graph, std::max(0, v - branches), v);
  return finish(std::move(graph), random);
}

/// A chain with edges that skip.
Graph skips(Random& random, int32_t count) {
  Graph graph = empty_graph(count);
  for (int32_t v = 1; v < count; ++v) {
    connect(graph, v - 1, v);
    if (v > 3 && below(random, 3) == 0) connect(graph, v - 3, v);
  }
  return finish(std::move(graph), random);
}

Graph any_graph(Random& random, int32_t count) {
  switch (below(random, 6)) {
    case 0:
      return chain(random, count);
    case 1:
      return tree(random, count);
    case 2:
      return ladder(random, count);
    case 3:
      return parallel_branches(random, count);
    case 4:
      return skips(random, count);
    default:
      return random_graph(random, count, 1 + below(random, 5));
  }
}

int64_t least_of_all_sets(const Graph& graph) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (uint32_t set = 0; set < uint32_t{1} << (graph.target - 1); ++set) {
    std::vector<int32_t> stored;
    for (int32_t v = 1; v < graph.target; ++v) {
      if ((set >> (v - 1)) % 2 == 1) stored.push_back(v);
    }
    least = std::min(least, evaluate(graph, stored, graph.order).cost);
  }
  return least;
}

void expect_as_said(const Graph& graph, const GraphAnswer& answer) {
  const GraphAnswer judged = evaluate(graph, answer.stored, answer.order);
  EXPECT_EQ(answer.cost, judged.cost) << answer.solver;
  EXPECT_EQ(answer.stored_cost, judged.stored_cost) << answer.solver;
  EXPECT_EQ(answer.local_cost, judged.local_cost) << answer.solver;
  EXPECT_EQ(answer.cost, answer.stored_cost + answer.local_cost) << answer.solver;
  EXPECT_LE(answer.lower_bound, answer.cost) << answer.solver;
  EXPECT_EQ(answer.optimal, answer.lower_bound == answer.cost) << answer.solver;
}

TEST(GraphProblem, ExactIsTheLeastOfAllSetsAndNoSolverIsBelow) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Graph graph = any_graph(random, i < 1980 ? 3 + below(random, 7) : 14 + below(random, 3));
    const int64_t least = least_of_all_sets(graph);
    for (const auto& solver : graph_solver_names()) {
      const GraphAnswer answer = solve_graph(graph, solver);
      expect_as_said(graph, answer);
      EXPECT_GE(answer.cost, least) << solver << "\n" << to_json(graph);
      EXPECT_LE(answer.lower_bound, least) << solver << "\n" << to_json(graph);
      if (solver == "exact") {
        EXPECT_EQ(answer.cost, least) << to_json(graph);
        EXPECT_TRUE(answer.optimal);
      }
    }
  }
}

TEST(GraphProblem, ChainsOfAnyLengthAreProven) {
  Random random(2);
  for (const int32_t count : {2, 3, 30, 300, 1000}) {
    const Graph graph = chain(random, count);
    const GraphAnswer answer = solve_graph_exact(graph);
    expect_as_said(graph, answer);
    EXPECT_TRUE(answer.optimal) << count;
    EXPECT_EQ(solve_graph_paper(graph).cost, answer.cost) << count << ": the paper's algorithm is exact on chains";
  }
}

TEST(GraphProblem, ExactImprovesOnCutsAndRepeatsItself) {
  Random random(3);
  for (int i = 0; i < 1; ++i) {
    const Graph graph = random_graph(random, 60, 6);
    const GraphAnswer answer = solve_graph_exact(graph);
    expect_as_said(graph, answer);
    EXPECT_LE(answer.cost, solve_graph_cuts(graph).cost);
    EXPECT_EQ(solve_graph_exact(graph).stored, answer.stored);
  }
}

TEST(GraphProblem, AFreeOrderIsChosenAndTold) {
  Random random(4);
  for (int i = 0; i < 50; ++i) {
    Graph graph = any_graph(random, 12);
    graph.order.clear();
    for (const auto& solver : graph_solver_names()) expect_as_said(graph, solve_graph(graph, solver));
  }
}

TEST(GraphProblem, ComponentsAliveAtOnceAreAdded) {
  // Two branches recorded in turn: a component each, both alive in the middle.
  Graph graph = empty_graph(6);
  graph.costs = {0, 5, 7, 11, 13, 0};
  graph.successors = {{1, 2}, {3}, {4}, {5}, {5}, {}};
  EXPECT_EQ(evaluate(graph, {}, {0, 1, 2, 3, 4, 5}).local_cost, 36);
  EXPECT_EQ(evaluate(graph, {}, {0, 1, 3, 2, 4, 5}).local_cost, 20);
  EXPECT_EQ(evaluate(graph, {3}, {0, 1, 2, 3, 4, 5}).cost, 11 + 20);
}

class AuthorsGraph : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(AuthorsGraph, PaperFindsTheirCostAndExactTheBestKnown) {
  const Graph graph = read_graph(GetParam());
  std::ifstream file(GetParam());
  const auto facts = nlohmann::json::parse(file);
  const GraphAnswer paper = solve_graph_paper(graph), cuts = solve_graph_cuts(graph), exact = solve_graph_exact(graph);
  for (const auto& answer : {paper, cuts, exact}) expect_as_said(graph, answer);
  EXPECT_EQ(paper.cost, facts["authors_cost"].get<int64_t>());
  EXPECT_LE(cuts.cost, paper.cost);
  EXPECT_LE(exact.cost, facts["best_known_cost"].get<int64_t>());
}

std::vector<std::filesystem::path> authors_graphs() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(REFORWARD_GRAPHS)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Eleven, AuthorsGraph, ::testing::ValuesIn(authors_graphs()),
                         [](const auto& test) { return test.param.stem().string(); });

TEST(GraphProblem, AllElevenGraphsAreThere) { EXPECT_EQ(authors_graphs().size(), 11u); }

TEST(GraphOfTrace, HasTheValuesAsVertices) {
  Trace trace;
  trace.values = {{.bytes = 4},
                  {.bytes = 8, .maker = OpId(0), .overwritten = true},
                  {.bytes = 8, .maker = OpId(1), .overwrites = ValueId(1)},
                  {.bytes = 2, .maker = OpId(2)}};
  trace.ops.resize(3);
  trace.ops[0] = {.name = "a", .inputs = {ValueId(0)}, .outputs = {ValueId(1)}};
  trace.ops[1] = {.name = "b_", .inputs = {ValueId(1)}, .outputs = {ValueId(2)}};
  trace.ops[2] = {.name = "c", .inputs = {ValueId(2), ValueId(0)}, .outputs = {ValueId(3)}};
  trace.values[1].dies = 1;
  trace.backward = {{.kind = BackwardEvent::Kind::begin}, {.kind = BackwardEvent::Kind::end}};
  const Graph graph = graph_of(trace);
  EXPECT_THAT(graph.costs, ::testing::ElementsAre(0, 8, 0, 2, 0));
  EXPECT_EQ(graph.successors, (std::vector<std::vector<int32_t>>{{1}, {2}, {3}, {4}, {}}));
}

}  // namespace
}  // namespace reforward
