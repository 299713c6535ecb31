#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "plan/graph/chain.h"
#include "plan/graph/cuts.h"
#include "plan/graph/exact.h"
#include "plan/graph/ordered.h"
#include "plan/graph/paper.h"
#include "reforward/error.h"
#include "reforward/graph.h"

namespace reforward {
namespace {

using graph::Choice;
using graph::Ordered;

/// Solves in every order worth trying and keeps the best.
GraphAnswer in_every_order(const Graph& graph, const std::string& name,
                           const std::function<Choice(const Ordered&)>& solve) {
  const auto started = std::chrono::steady_clock::now();
  validate(graph);
  GraphAnswer best;
  for (const auto& order : graph::candidate_orders(graph)) {
    const Ordered ordered(graph, order);
    const Choice choice = solve(ordered);
    if (!best.order.empty() && choice.cost() >= best.cost) continue;
    best = graph::to_answer(graph, ordered, choice);
  }
  best.solver = name;
  best.lower_bound = graph::path_bound(Ordered(graph, best.order));
  best.optimal = best.lower_bound == best.cost;
  best.solve_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return best;
}

}  // namespace

GraphAnswer solve_graph_sqrt(const Graph& graph) { return in_every_order(graph, "sqrt", graph::sqrt_choice); }
GraphAnswer solve_graph_cuts(const Graph& graph) { return in_every_order(graph, "cuts", graph::cuts_choice); }
GraphAnswer solve_graph_paper(const Graph& graph) { return in_every_order(graph, "paper", graph::paper_choice); }

GraphAnswer solve_graph_exact(const Graph& graph, std::optional<double> seconds) {
  const auto started = std::chrono::steady_clock::now();
  GraphAnswer answer = solve_graph_cuts(graph);
  if (!answer.optimal) {
    const Ordered ordered(graph, answer.order);
    std::vector<char> stored(ordered.cost.size(), 0);
    for (int32_t p = 0; p < ordered.size(); ++p) {
      stored[p] = std::binary_search(answer.stored.begin(), answer.stored.end(), ordered.order[p]);
    }
    const int64_t path_bound = answer.lower_bound;
    const graph::Best best =
        graph::exact_choice(ordered, graph::price(ordered, std::move(stored)), path_bound, seconds);
    answer = graph::to_answer(graph, ordered, best.choice);
    // A proof along one order says nothing of the others.
    answer.lower_bound = graph.order.empty() ? path_bound : best.lower_bound;
    answer.optimal = answer.lower_bound == answer.cost;
  }
  answer.solver = "exact";
  answer.solve_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return answer;
}

const std::vector<std::string>& graph_solver_names() {
  static const std::vector<std::string> names{"exact", "cuts", "paper", "sqrt"};
  return names;
}

GraphAnswer solve_graph(const Graph& graph, std::string_view solver, std::optional<double> seconds) {
  if (solver == "exact") return solve_graph_exact(graph, seconds);
  if (solver == "cuts") return solve_graph_cuts(graph);
  if (solver == "paper") return solve_graph_paper(graph);
  if (solver == "sqrt") return solve_graph_sqrt(graph);
  throw InputError("There is no solver '" + std::string(solver) + "' of graphs; take exact, cuts, paper or sqrt.");
}

}  // namespace reforward
