#include <sstream>

#include "cli/measure.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "reforward/error.h"
#include "reforward/reforward.h"

namespace reforward::cli {
namespace {

struct Options {
  Setup setup;
  std::string budgets = "100%,70%,50%,35%,min";
  std::string solver = "budget";
  int64_t rounds = 5;
};

/// One budget of the table.
struct Row {
  std::string budget;
  std::unique_ptr<Session> session;
  StepReport first, report;
  std::vector<double> ratios;
  Equality equal;
  int64_t least = 0;  // if the budget cannot be met
};

std::vector<Row> make_rows(const Options& options, Workload& work) {
  std::vector<Row> rows;
  std::istringstream list(options.budgets);
  for (std::string budget; std::getline(list, budget, ',');) {
    auto& row = rows.emplace_back();
    row.budget = budget;
    row.session = std::make_unique<Session>(SessionOptions{.budget = parse_budget(budget), .solver = options.solver});
    work.name_in(*row.session);
  }
  if (rows.empty()) throw InputError("No budgets were given; give a list such as 100%,50%,min.");
  return rows;
}

/// A plain step and one of each budget, all from the same state and in turn.
void run_round(Workload& work, std::vector<Row>& rows, int64_t round, int64_t& plain_peak) {
  const auto [data, target] = work.batch(round);
  const StepState before(work.module());
  const MeasuredStep plain = plain_step(work.network(), data, target);
  plain_peak = std::max(plain_peak, plain.peak_bytes);
  for (Row& row : rows) {
    if (row.least != 0) continue;
    before.restore();
    torch::Tensor loss;
    try {
      const StepReport report = row.session->step([&, &inputs = data, &wanted = target] {
        loss = work.network().loss(inputs, wanted);
        loss.backward();
        loss = loss.detach();
      });
      row.equal &= compare(plain.result, StepResult::of(work.module(), loss));
      if (report.kind == StepReport::Kind::first) {
        row.first = report;
        row.first.seconds /= plain.seconds;
      } else {
        row.report = report;
        // The first planned step may have been measured again: not counted.
        if (round > 1) row.ratios.push_back(report.seconds / plain.seconds);
      }
    } catch (const BudgetError& error) {
      row.least = error.least_bytes;
    }
  }
  work.clear_gradients();
}

Json to_json(const Row& row, int64_t plain_peak) {
  Json json{{"budget", row.budget}};
  if (row.least != 0) {
    json["least_bytes"] = row.least;
    return json;
  }
  const Trace& trace = *row.session->trace();
  describe(trace, *row.session->plan(), json);
  json["budget_bytes"] = row.report.budget_bytes;
  json["predicted_peak_bytes"] = row.report.predicted_peak_bytes;
  json["measured_peak_bytes"] = row.report.measured_peak_bytes;
  json["activation_share"] = static_cast<double>(activations(trace, row.report.measured_peak_bytes)) /
                             static_cast<double>(activations(trace, plain_peak));
  json["step_ratio"] = median(row.ratios);
  json["recompute_seconds"] = row.report.recompute_seconds;
  json["plan_seconds"] = row.first.plan_seconds;
  json["first_step_peak_bytes"] = row.first.measured_peak_bytes;
  json["first_step_ratio"] = row.first.seconds;
  json["loss_equal"] = row.equal.loss;
  json["gradients_equal"] = row.equal.gradients;
  json["buffers_equal"] = row.equal.buffers;
  json["random_state_equal"] = row.equal.random_state;
  return json;
}

void run(const Common& common, const Options& options) {
  Workload work(options.setup);
  auto rows = make_rows(options, work);
  int64_t plain_peak = 0;
  {
    Progress progress(common, "measuring", options.rounds + 2);
    for (int64_t round = 0; round < options.rounds + 2; ++round) {
      run_round(work, rows, round, plain_peak);
      progress.advance();
    }
  }
  Json json{{"model", options.setup.model},
            {"batch", work.batch_size()},
            {"image", work.image()},
            {"plain_peak_bytes", plain_peak},
            {"budgets", Json::array()}};
  Table table({"budget", "bytes", "predicted", "measured", "activations", "step", "first step", "bits"});
  bool right = true;
  for (const Row& row : rows) {
    json["budgets"].push_back(to_json(row, plain_peak));
    if (row.least != 0) {
      table.add({row.budget, "-", "-", "needs " + format_bytes(row.least), "-", "-", "-", "-"});
      continue;
    }
    const Json entry = json["budgets"].back();
    if (!json.contains("static_bytes")) describe(*row.session->trace(), json);
    right &= row.equal.all() && row.report.measured_peak_bytes <= row.report.budget_bytes;
    table.add({row.budget, format_bytes(row.report.budget_bytes), format_bytes(row.report.predicted_peak_bytes),
               format_bytes(row.report.measured_peak_bytes), percent(entry["activation_share"].get<double>(), 1),
               fixed(median(row.ratios), 2) + " x", fixed(row.first.seconds, 2) + " x",
               row.equal.all() ? "equal" : "DIFFER"});
  }
  json["model"] = options.setup.model;
  json["batch"] = work.batch_size();
  json["image"] = work.image();
  show(common, json,
       options.setup.model + ", batch " + std::to_string(work.batch_size()) + ", size " + std::to_string(work.image()) +
           ": plain peak " + format_bytes(plain_peak) + "; times as ratios to a plain step\n" + table.text());
  if (!right) throw CLI::RuntimeError(1);
}

}  // namespace

void add_bench(CLI::App& app, Common& common) {
  CLI::App* command = add_command(app, common, "bench", "budgets against peaks, times and bits, measured");
  auto options = std::make_shared<Options>();
  options->setup.add_to(*command);
  command->get_option("--model")->required(false);  // `bench paper` has its own
  add_paper(*command, common);
  command->add_option("--budgets", options->budgets, "separated by commas");
  command->add_option("--solver", options->solver, "budget, minimal, sqrt or keep");
  command->add_option("--rounds", options->rounds, "measured steps of each; medians are shown")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  command->callback([&common, command, options] {
    if (!command->get_subcommands().empty()) return;
    if (options->setup.model.empty()) {
      throw InputError("No model was given to bench; give --model NAME, or `bench paper` for the paper's table.");
    }
    run(common, *options);
  });
}

}  // namespace reforward::cli
