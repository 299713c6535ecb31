#include <chrono>

#include "cli/output.h"
#include "reforward/error.h"
#include "reforward/reforward.h"

namespace reforward::cli {
namespace {

struct Options {
  std::string trace;
  std::string budget = "100%";
  std::string solver = "budget";
  std::string output;
};

void run(const Common& common, const Options& options) {
  const Budget budget = parse_budget(options.budget);
  if (!options.output.empty()) check_writable(options.output);
  const Trace trace = read_trace(options.trace);
  const int64_t plain = evaluate(trace, plan_keep(trace)).peak_bytes;
  const int64_t minimal = plan_minimal(trace).predicted_peak_bytes;
  const int64_t bytes = resolve(budget, plain, minimal);

  const auto started = std::chrono::steady_clock::now();
  Plan plan = make_plan(trace, options.solver, {.budget_bytes = bytes});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (plan.predicted_peak_bytes > bytes && budget.kind != Budget::Kind::least) {
    throw BudgetError("The plan of the solver " + options.solver + " needs " +
                          std::to_string(plan.predicted_peak_bytes) + " bytes, over the budget of " +
                          std::to_string(bytes) + "; allow that much or use the solver budget.",
                      plan.predicted_peak_bytes);
  }
  plan.budget_bytes = bytes;
  if (!options.output.empty()) write_plan(options.output, plan);

  Json json;
  describe(trace, json);
  describe(trace, plan, json);
  json["budget_bytes"] = bytes;
  json["plain_peak_bytes"] = plain;
  json["minimal_peak_bytes"] = minimal;
  json["predicted_peak_bytes"] = plan.predicted_peak_bytes;
  json["plan_seconds"] = seconds;
  if (!options.output.empty()) json["output"] = options.output;

  const double step = trace.forward_seconds + trace.backward_seconds;
  Table table({"", "peak", "of plain", "activations"});
  const auto add = [&](const std::string& name, int64_t peak) {
    table.add({name, format_bytes(peak), percent(static_cast<double>(peak), static_cast<double>(plain)),
               percent(static_cast<double>(activations(trace, peak)), static_cast<double>(activations(trace, plain)))});
  };
  add("plain step", plain);
  add("budget", bytes);
  add("this plan", plan.predicted_peak_bytes);
  add("least possible", minimal);
  std::string text = table.text() + "keeps " + std::to_string(json["kept_values"].get<int64_t>()) + " of " +
                     std::to_string(json["saved_values"].get<int64_t>()) + " saved values, recomputes for " +
                     fixed(plan.recompute_seconds, 3) + " s (" + percent(plan.recompute_seconds, step) +
                     " of the plain step); planned in " + fixed(seconds, 3) + " s\n";
  if (!options.output.empty()) text += "written to " + options.output + "\n";
  show(common, json, text);
}

}  // namespace

void add_plan(CLI::App& app, Common& common) {
  CLI::App* command = add_command(app, common, "plan", "choose what to keep and what to recompute");
  auto options = std::make_shared<Options>();
  command->add_option("trace", options->trace, "a trace's file")->required();
  command->add_option("--budget", options->budget, "bytes (2GiB), a share of the plain peak (50%), or min");
  command->add_option("--solver", options->solver, "budget, minimal, sqrt or keep");
  command->add_option("-o,--output", options->output, "the plan's file (JSON, docs/plan-format.md)");
  command->callback([&common, options] { run(common, *options); });
}

}  // namespace reforward::cli
