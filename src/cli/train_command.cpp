#include <algorithm>
#include <cstdio>
#include <sstream>

#include <unistd.h>

#include "cli/measure.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "reforward/error.h"
#include "reforward/reforward.h"
#include "run/verify.h"

namespace reforward::cli {
namespace {

struct Options {
  Setup setup;
  std::string budget = "100%";
  std::string solver = "budget";
  std::string optimizer = "sgd";
  double learning_rate = 0;
  int64_t steps = 50;
  bool compare = false;
  std::string save;
};

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Options& options, torch::nn::Module& module) {
  if (options.optimizer == "sgd") {
    const double rate = options.learning_rate > 0 ? options.learning_rate : 0.01;
    return std::make_unique<torch::optim::SGD>(module.parameters(), torch::optim::SGDOptions(rate).momentum(0.9));
  }
  const double rate = options.learning_rate > 0 ? options.learning_rate : 1e-3;
  return std::make_unique<torch::optim::AdamW>(module.parameters(), torch::optim::AdamWOptions(rate));
}

/// Of the state that the optimizer makes after the first step.
int64_t optimizer_bytes(const Options& options, torch::nn::Module& module) {
  int64_t bytes = 0;
  for (const auto& parameter : module.parameters()) bytes += static_cast<int64_t>(parameter.nbytes());
  return options.optimizer == "sgd" ? bytes : 2 * bytes;
}

/// What the steps so far have shown.
struct Record {
  std::vector<double> losses, ratios;
  Equality equal;
  int64_t plain_peak = 0;  // measured, with --compare
  int64_t forward_calls = 0;
  int64_t first_peak = 0;
  double first_ratio = 0;
  bool within_budget = true;
  StepReport last, highest;
  double trace_seconds = 0, plan_seconds = 0;
};

class Training {
 public:
  Training(const Options& options, Workload& work)
      : options_(options),
        work_(work),
        session_({.budget = parse_budget(options.budget),
                  .solver = options.solver,
                  .reserve_bytes = optimizer_bytes(options, work.module())}),
        optimizer_(make_optimizer(options, work.module())) {
    work.name_in(session_);
  }

  void step(int64_t number) {
    const auto [data, target] = work_.batch(number);
    MeasuredStep plain;
    if (options_.compare) {
      const StepState before(work_.module());
      plain = plain_step(work_.network(), data, target);
      record_.plain_peak = std::max(record_.plain_peak, plain.peak_bytes);
      before.restore();
    }
    torch::Tensor loss;
    const StepReport report = session_.step([&, &inputs = data, &wanted = target] {
      ++record_.forward_calls;
      loss = work_.network().loss(inputs, wanted);
      loss.backward();
      loss = loss.detach();
    });
    if (options_.compare) {
      record_.equal &= reforward::compare(plain.result, StepResult::of(work_.module(), loss));
      (report.kind == StepReport::Kind::first ? record_.first_ratio : record_.ratios.emplace_back()) =
          report.seconds / plain.seconds;
    }
    note(report, loss.item<double>());
    gradient_bytes_ = work_.gradient_bytes();
    optimizer_->step();
    optimizer_->zero_grad();
  }

  void save() const {
    if (options_.save.empty()) return;
    torch::serialize::OutputArchive archive;
    work_.module().save(archive);
    std::ostringstream bytes;
    archive.save_to(bytes);
    write_file(options_.save, bytes.str());
  }

  const Record& record() const { return record_; }
  const Session& session() const { return session_; }
  int64_t gradient_bytes() const { return gradient_bytes_; }

 private:
  void note(const StepReport& report, double loss) {
    record_.losses.push_back(loss);
    record_.plan_seconds = std::max(record_.plan_seconds, report.plan_seconds);
    if (report.kind == StepReport::Kind::first) {
      record_.first_peak = std::max(record_.first_peak, report.measured_peak_bytes);
      record_.trace_seconds = std::max(record_.trace_seconds, report.seconds);
      return;
    }
    record_.last = report;
    if (report.measured_peak_bytes > record_.highest.measured_peak_bytes) record_.highest = report;
    record_.within_budget &= report.measured_peak_bytes <= report.budget_bytes;
  }

  const Options& options_;
  Workload& work_;
  Session session_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  Record record_;
  int64_t gradient_bytes_ = 0;
};

Json to_json(const Options& options, const Training& training) {
  const Record& record = training.record();
  Json json;
  if (const auto trace = training.session().trace()) {
    describe(*trace, json);
    describe(*trace, *training.session().plan(), json);
    json["plain_peak_bytes"] = evaluate(*trace, plan_keep(*trace)).peak_bytes;
    json["minimal_peak_bytes"] = plan_minimal(*trace).predicted_peak_bytes;
  }
  json["data"] = options.setup.data;
  json["optimizer"] = options.optimizer;
  json["steps"] = record.losses.size();
  json["gradient_bytes"] = training.gradient_bytes();
  json["budget_bytes"] = record.highest.budget_bytes;
  json["predicted_peak_bytes"] = record.highest.predicted_peak_bytes;
  json["measured_peak_bytes"] = record.highest.measured_peak_bytes;
  json["static_bytes"] = record.highest.static_bytes;
  json["within_budget"] = record.within_budget;
  json["first_step_peak_bytes"] = record.first_peak;
  json["trace_seconds"] = record.trace_seconds;
  json["plan_seconds"] = record.plan_seconds;
  json["recompute_seconds"] = record.last.recompute_seconds;
  json["forward_calls"] = record.forward_calls;
  json["losses"] = record.losses;
  if (options.compare) {
    json["measured_plain_peak_bytes"] = record.plain_peak;
    json["step_ratio"] = median(record.ratios);
    json["first_step_ratio"] = record.first_ratio;
    json["loss_equal"] = record.equal.loss;
    json["gradients_equal"] = record.equal.gradients;
    json["buffers_equal"] = record.equal.buffers;
    json["random_state_equal"] = record.equal.random_state;
  }
  return json;
}

std::string to_text(const Options& options, const Json& json) {
  const auto bytes = [&](const char* key) { return format_bytes(json[key].get<int64_t>()); };
  const auto share = [&](const char* key) {
    return percent(json[key].get<double>(), json["plain_peak_bytes"].get<double>());
  };
  Table table({"", "bytes", "of plain"});
  table.add({"plain step's peak", bytes("plain_peak_bytes"), "100.0 %"});
  table.add({"budget", bytes("budget_bytes"), share("budget_bytes")});
  table.add({"predicted peak", bytes("predicted_peak_bytes"), share("predicted_peak_bytes")});
  table.add({"measured peak", bytes("measured_peak_bytes"), share("measured_peak_bytes")});
  table.add({"first step's peak", bytes("first_step_peak_bytes"), share("first_step_peak_bytes")});
  std::string text = table.text();
  if (json["predicted_peak_bytes"] == json["measured_peak_bytes"]) text += "the prediction was right to the byte\n";
  if (options.compare) {
    const auto word = [&](const char* key) { return json[key].get<bool>() ? "equal" : "DIFFERENT"; };
    text += "to plain PyTorch, over " + std::to_string(json["steps"].get<int64_t>()) +
            " steps, to the last bit: loss " + word("loss_equal") + ", gradients " + word("gradients_equal") +
            ", buffers " + word("buffers_equal") + ", random state " + word("random_state_equal") + "\n" +
            "a step takes " + fixed(json["step_ratio"].get<double>(), 2) + " times a plain one\n";
  }
  return text;
}

void run(const Common& common, const Options& options) {
  if (!options.save.empty()) check_writable(options.save);
  Workload work(options.setup);
  Training training(options, work);
  {
    Progress progress(common, "training", options.steps);
    const bool speaks = !common.json && !common.quiet;
    const auto header = [&] {
      std::printf("%6s %10s %10s %12s %12s%s\n", "step", "loss", "samples/s", "peak", "budget",
                  options.compare ? "  bits" : "");
    };
    for (int64_t step = 0; step < options.steps; ++step) {
      training.step(step);
      const Record& record = training.record();
      const StepReport& report = record.last;
      progress.advance("loss " + fixed(record.losses.back(), 4));
      if (!speaks || (step >= 3 && (step + 1) % std::max<int64_t>(1, options.steps / 10) != 0)) continue;
      if (step == 0) header();
      if (::isatty(STDOUT_FILENO) == 1) std::fputs("\r\033[K", stdout);
      std::printf("%6lld %10.4f %10.1f %12s %12s%s\n", static_cast<long long>(step + 1), record.losses.back(),
                  static_cast<double>(work.batch_size()) / (step == 0 ? record.trace_seconds : report.seconds),
                  format_bytes(step == 0 ? record.first_peak : report.measured_peak_bytes).c_str(),
                  step == 0 ? "(traced)" : format_bytes(report.budget_bytes).c_str(),
                  !options.compare     ? ""
                  : record.equal.all() ? " equal"
                                       : " DIFFER");
      std::fflush(stdout);
    }
  }
  training.save();
  const Json json = to_json(options, training);
  show(common, json, to_text(options, json));
  const Equality& equal = training.record().equal;
  if (!equal.all() || !training.record().within_budget) throw CLI::RuntimeError(1);
}

}  // namespace

void add_train(CLI::App& app, Common& common) {
  CLI::App* command = add_command(app, common, "train", "train a network inside a memory budget");
  auto options = std::make_shared<Options>();
  options->setup.add_to(*command);
  command->add_option("--budget", options->budget, "bytes (2GiB), a share of the plain peak (50%), or min");
  command->add_option("--solver", options->solver, "budget, minimal, sqrt or keep");
  command->add_option("--optimizer", options->optimizer, "sgd or adamw")->check(CLI::IsMember({"sgd", "adamw"}));
  command->add_option("--lr", options->learning_rate, "learning rate")->check(CLI::PositiveNumber);
  command->add_option("--steps", options->steps, "steps to train")->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command->add_flag("--compare", options->compare,
                    "run each step plain too, from the same state, and compare every bit");
  command->add_option("--save", options->save, "where to write the trained parameters (torch::load)");
  command->callback([&common, options] { run(common, *options); });
}

}  // namespace reforward::cli
