#include "cli/output.h"
#include "reforward/graph.h"

namespace reforward::cli {
namespace {

struct Options {
  std::string graph;
  std::string solver = "exact";
  std::optional<double> seconds;
};

void run(const Common& common, const Options& options) {
  const Graph graph = read_graph(options.graph);
  const GraphAnswer answer = solve_graph(graph, options.solver, options.seconds);
  const auto ids = [&](const std::vector<int32_t>& vertices) {
    Json list = Json::array();
    for (const int32_t vertex : vertices) list.push_back(graph.ids[static_cast<std::size_t>(vertex)]);
    return list;
  };
  Json json{{"network", graph.network},
            {"vertices", graph.ids.size()},
            {"solver", answer.solver},
            {"cost", answer.cost},
            {"stored", ids(answer.stored)},
            {"stored_cost", answer.stored_cost},
            {"local_cost", answer.local_cost},
            {"order", ids(answer.order)},
            {"solve_seconds", answer.solve_seconds},
            {"lower_bound", answer.lower_bound},
            {"optimal", answer.optimal}};
  int64_t total = 0;
  for (const int64_t cost : graph.costs) total += cost;
  total -= graph.costs[static_cast<std::size_t>(graph.source)] + graph.costs[static_cast<std::size_t>(graph.target)];
  Table table({"", "cost", "of all"});
  const auto add = [&](const std::string& name, int64_t cost) {
    table.add({name, std::to_string(cost), percent(static_cast<double>(cost), static_cast<double>(total))});
  };
  add("cost", answer.cost);
  add("stored", answer.stored_cost);
  add("largest local re-forward", answer.local_cost);
  add("lower bound", answer.lower_bound);
  std::string stored;
  for (const auto& id : json["stored"]) stored += " " + id.dump();
  show(common, json,
       (graph.network.empty() ? options.graph : graph.network) + ", " + std::to_string(graph.ids.size()) +
           " vertices, solver " + answer.solver + ": " + (answer.optimal ? "optimal" : "not proven optimal") + ", in " +
           fixed(answer.solve_seconds, 3) + " s\n" + table.text() + "stored vertices:" + stored + "\n");
}

}  // namespace

void add_solve(CLI::App& app, Common& common) {
  CLI::App* command = add_command(app, common, "solve", "solve the paper's problem on a graph of costs");
  auto options = std::make_shared<Options>();
  command->add_option("graph", options->graph, "a graph's file (JSON, docs/graph-format.md)")->required();
  command->add_option("--solver", options->solver, "exact, cuts, paper or sqrt");
  command->add_option("--time", options->seconds, "seconds that exact may search; without it a fixed amount of work")
      ->check(CLI::Range(0.001, 86400.0));
  command->callback([&common, options] { run(common, *options); });
}

}  // namespace reforward::cli
