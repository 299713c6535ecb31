#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

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

using Clock = std::chrono::steady_clock;

struct Solved {
  Ordered ordered;
  Choice choice;
};

/// Solves in every order worth trying and keeps the best.
Solved in_every_order(const Graph& graph, const std::function<Choice(const Ordered&)>& solve) {
  validate(graph);
  std::optional<Solved> best;
  for (const auto& order : graph::candidate_orders(graph)) {
    Ordered ordered(graph, order);
    Choice choice = solve(ordered);
    if (!best || choice.cost() < best->choice.cost()) best = Solved{std::move(ordered), std::move(choice)};
  }
  return *std::move(best);
}

GraphAnswer answer_of(const Graph& graph, const char* solver, const Solved& solved, int64_t lower_bound,
                      Clock::time_point started) {
  GraphAnswer answer = graph::to_answer(graph, solved.ordered, solved.choice);
  answer.solver = solver;
  answer.lower_bound = lower_bound;
  answer.optimal = answer.lower_bound == answer.cost;
  answer.solve_seconds = std::chrono::duration<double>(Clock::now() - started).count();
  return answer;
}

GraphAnswer solve_by(const Graph& graph, const char* solver, Choice (*solve)(const Ordered&)) {
  const auto started = Clock::now();
  const Solved solved = in_every_order(graph, solve);
  return answer_of(graph, solver, solved, graph::path_bound(solved.ordered), started);
}

}  // namespace

GraphAnswer solve_graph_sqrt(const Graph& graph) { return solve_by(graph, "sqrt", graph::sqrt_choice); }
GraphAnswer solve_graph_cuts(const Graph& graph) { return solve_by(graph, "cuts", graph::cuts_choice); }
GraphAnswer solve_graph_paper(const Graph& graph) { return solve_by(graph, "paper", graph::paper_choice); }

GraphAnswer solve_graph_exact(const Graph& graph, std::optional<double> seconds) {
  const auto started = Clock::now();
  Solved solved = in_every_order(graph, graph::cuts_choice);
  const int64_t path_bound = graph::path_bound(solved.ordered);
  graph::Best best = graph::exact_choice(solved.ordered, std::move(solved.choice), path_bound, seconds);
  solved.choice = std::move(best.choice);
  // A proof along one order says nothing of the others.
  const int64_t lower_bound = graph.order.empty() ? path_bound : best.lower_bound;
  return answer_of(graph, "exact", solved, lower_bound, started);
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
