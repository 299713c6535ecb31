#include <algorithm>
#include <chrono>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "reforward/reforward.h"

namespace reforward::cli {
namespace {

struct Options {
  Setup setup;
  std::string output;
  std::string graph;
  int64_t rounds = 2;
};

/// Traces the step so often; of each op's times the least counts, since whatever
/// else the machine does only makes them longer.
Trace trace_of(Workload& work, int64_t rounds, Progress& progress) {
  Trace best;
  const auto [data, target] = work.batch(0);
  for (int64_t round = 0; round < rounds; ++round) {
    Session session({.budget = {}, .solver = "keep"});
    work.name_in(session);
    session.step([&, &inputs = data, &wanted = target] { work.network().loss(inputs, wanted).backward(); });
    work.clear_gradients();
    const Trace& trace = *session.trace();
    if (round == 0) {
      best = trace;
    } else if (fingerprint(best) == fingerprint(trace)) {
      for (std::size_t i = 0; i < best.ops.size(); ++i) {
        best.ops[i].seconds = std::min(best.ops[i].seconds, trace.ops[i].seconds);
      }
      best.forward_seconds = std::min(best.forward_seconds, trace.forward_seconds);
      best.backward_seconds = std::min(best.backward_seconds, trace.backward_seconds);
    }
    progress.advance();
  }
  work.label(best);
  return best;
}

void run(const Common& common, const Options& options) {
  if (!options.output.empty()) check_writable(options.output);
  if (!options.graph.empty()) check_writable(options.graph);
  Workload work(options.setup);
  const auto started = std::chrono::steady_clock::now();
  Trace trace;
  {
    Progress progress(common, "tracing", options.rounds);
    trace = trace_of(work, options.rounds, progress);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (!options.output.empty()) write_trace(options.output, trace);
  if (!options.graph.empty()) write_graph(options.graph, graph_of(trace));

  const int64_t plain = evaluate(trace, plan_keep(trace)).peak_bytes;
  const auto plan_started = std::chrono::steady_clock::now();
  const int64_t minimal = plan_minimal(trace).predicted_peak_bytes;
  const double plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - plan_started).count();
  Json json;
  describe(trace, json);
  json["plain_peak_bytes"] = plain;
  json["minimal_peak_bytes"] = minimal;
  json["trace_seconds"] = seconds;
  json["plan_seconds"] = plan_seconds;
  if (!options.output.empty()) json["output"] = options.output;
  if (!options.graph.empty()) json["graph"] = options.graph;

  Table table({"", "peak", "of it activations"});
  table.add({"plain step", format_bytes(plain), format_bytes(activations(trace, plain))});
  table.add(
      {"least possible", format_bytes(minimal),
       format_bytes(activations(trace, minimal)) + " (" +
           percent(static_cast<double>(activations(trace, minimal)), static_cast<double>(activations(trace, plain))) +
           ")"});
  std::string text = trace.model + ", batch " + std::to_string(trace.batch) + ", size " + std::to_string(trace.image) +
                     ": " + std::to_string(trace.ops.size()) + " ops, " +
                     std::to_string(json["saved_values"].get<int64_t>()) + " saved values; forward " +
                     fixed(trace.forward_seconds, 2) + " s, backward " + fixed(trace.backward_seconds, 2) + " s\n" +
                     table.text() + "before the step " + format_bytes(trace.static_bytes) + ", gradients " +
                     format_bytes(trace.gradient_bytes) + "\n" + pinned_text(trace);
  if (!options.output.empty()) text += "written to " + options.output + "\n";
  if (!options.graph.empty()) text += "its graph written to " + options.graph + "\n";
  show(common, json, text);
}

}  // namespace

void add_trace(CLI::App& app, Common& common) {
  CLI::App* command = add_command(app, common, "trace", "run one training step and write down what it did");
  auto options = std::make_shared<Options>();
  options->setup.add_to(*command);
  command->add_option("-o,--output", options->output, "the trace's file (JSON, docs/trace-format.md)");
  command->add_option("--graph", options->graph,
                      "its vertices and costs, for `reforward solve` (docs/graph-format.md)");
  command->add_option("--rounds", options->rounds, "steps to trace; the least times count")
      ->check(CLI::Range(int64_t{1}, int64_t{100}));
  command->callback([&common, options] { run(common, *options); });
}

}  // namespace reforward::cli
