// What is read from files, fuzzed: graphs, traces, plans. What a loader lets through
// must survive being written and read again, and must go through the planners.

#include "fuzz/targets.h"

#include <cstdio>
#include <cstdlib>

#include "plan/nets.h"
#include "reforward/error.h"
#include "reforward/graph.h"
#include "reforward/json.h"
#include "reforward/planner.h"
#include "reforward/simulate.h"

namespace reforward {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void graph(std::string_view text) {
  const Graph graph = graph_from_json(text);
  const std::string written = to_json(graph);
  require(to_json(graph_from_json(written)) == written, "a graph that was written is read as it was");
  if (graph.ids.size() > 12) return;
  const GraphAnswer best = solve_graph_exact(graph);
  for (const auto& solver : graph_solver_names()) {
    const GraphAnswer answer = solve_graph(graph, solver);
    require(answer.lower_bound <= answer.cost, "no lower bound is above a cost");
    require(!graph.order.empty() ? answer.cost >= best.cost : true, "nothing is below exact");
    require(evaluate(graph, answer.stored, answer.order).cost == answer.cost, "a cost is that of the definition");
  }
}

void trace(std::string_view text) {
  const Trace trace = trace_from_json(text);
  const std::string written = to_json(trace);
  require(to_json(trace_from_json(written)) == written, "a trace that was written is read as it was");
  if (trace.ops.size() > 40 || trace.values.size() > 80) return;
  const Plan keep = plan_keep(trace);
  const Plan least = plan_minimal(trace);
  require(simulate(trace, least).peak_bytes <= keep.predicted_peak_bytes, "minimal is not above keep");
  const int64_t budget = least.predicted_peak_bytes + (keep.predicted_peak_bytes - least.predicted_peak_bytes) / 2;
  require(simulate(trace, plan_budget(trace, {.budget_bytes = budget})).peak_bytes <= budget, "a budget is met");
}

/// A plan for a trace that is always the same.
void plan(std::string_view text) {
  static const Trace trace = made_up::chain(6, 64);
  const Plan plan = plan_from_json(text);
  const std::string written = to_json(plan);
  require(to_json(plan_from_json(written)) == written, "a plan that was written is read as it was");
  const Timeline timeline = simulate(trace, plan);
  require(timeline.peak_bytes >= trace.static_bytes, "a peak is not below what is always there");
}

template <void (*target)(std::string_view)>
void refusing(std::string_view text) {
  try {
    target(text);
  } catch (const InternalError&) {
    throw;  // a bug
  } catch (const Error& error) {
    const std::string_view said = error.what();
    require(!said.empty() && said.find('\n') == std::string_view::npos && said.back() == '.',
            "a refusal is a sentence");
  }
}

}  // namespace

const std::map<std::string, std::function<void(std::string_view)>>& fuzz_targets() {
  static const std::map<std::string, std::function<void(std::string_view)>> targets{
      {"graph", refusing<graph>}, {"trace", refusing<trace>}, {"plan", refusing<plan>}};
  return targets;
}

}  // namespace reforward
