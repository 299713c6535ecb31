// `reforward bench paper`: the table of the paper, measured here.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/sysinfo.h>
#include <torch/version.h>

#include "cli/measure.h"
#include "cli/output.h"
#include "cli/paper_table.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "reforward/error.h"
#include "reforward/reforward.h"

namespace reforward::cli {
namespace {

constexpr const char* format = "reforward-paper-table";
constexpr int version = 1;

struct Options {
  double scale = 1;
  int64_t rounds = 1;
  std::string only;
  std::string output = "paper.json";
  bool again = false;
};

struct Step {
  StepReport report;
  torch::Tensor loss;
};

/// One network: a plain step, one of `minimal` and one of `budget` at the paper's
/// share of the plain activations, so often in turn, always from the same state.
class Measurement {
 public:
  Measurement(const PaperRow& row, int64_t batch)
      : row_(row),
        work_({.model = row.model, .data = "synthetic", .batch = batch, .image = row.image, .seed = 1}),
        session_({.budget = parse_budget("min"), .solver = "minimal"}) {
    work_.name_in(session_);
    std::tie(data_, target_) = work_.batch(0);
  }

  /// Steps that `run` will report to `progress`.
  static int64_t steps(int64_t rounds) { return 3 + 3 * rounds; }

  Json run(int64_t rounds, Progress& progress) {
    const auto step_done = [&] { progress.advance(row_.network); };
    {
      const StepState before(work_.module());
      plain(progress);
      before.restore();
      first_ = step().report;
      step_done();
      before.restore();
      step();  // the plan from measurements; this step may be measured again
      step_done();
      work_.clear_gradients();
    }
    for (int64_t round = 0; round < rounds; ++round) {
      const StepState before(work_.module());
      const MeasuredStep reference = plain(progress);
      before.restore();
      if (round > 0) session_.set_plan(minimal_plan_);
      minimal_ = planned(reference, minimal_ratios_);
      minimal_plan_ = *session_.plan();
      step_done();
      before.restore();
      session_.set_plan(at_paper_memory());
      budget_ = planned(reference, budget_ratios_);
      step_done();
      work_.clear_gradients();
    }
    return json();
  }

 private:
  MeasuredStep plain(Progress& progress) {
    const MeasuredStep step = plain_step(work_.network(), data_, target_);
    plain_peak_ = std::max(plain_peak_, step.peak_bytes);
    progress.advance(row_.network);
    return step;
  }

  Step step() {
    Step done;
    done.report = session_.step([&] {
      done.loss = work_.network().loss(data_, target_);
      done.loss.backward();
      done.loss = done.loss.detach();
    });
    return done;
  }

  StepReport planned(const MeasuredStep& reference, std::vector<double>& ratios) {
    const Step done = step();
    invariant(done.report.kind == StepReport::Kind::planned, "a step of a known kind was not planned");
    ratios.push_back(done.report.seconds / reference.seconds);
    equal_ &= compare(reference.result, StepResult::of(work_.module(), done.loss));
    return done.report;
  }

  /// The fastest plan within the share of the plain activations that the paper's method leaves.
  Plan at_paper_memory() {
    const Trace& trace = *session_.trace();
    const double share = 1 - static_cast<double>(row_.cut_percent) / 100;
    const auto allowed = static_cast<int64_t>(share * static_cast<double>(activations(trace, plain_peak_)));
    const int64_t bytes = trace.static_bytes + trace.gradient_bytes + allowed;
    return plan_budget(trace, {.budget_bytes = std::max(minimal_plan_.predicted_peak_bytes, bytes)});
  }

  Json json() const {
    const Trace& trace = *session_.trace();
    const auto plain = static_cast<double>(activations(trace, plain_peak_));
    const auto cut = [&](const StepReport& report) {
      return 1 - static_cast<double>(activations(trace, report.measured_peak_bytes)) / plain;
    };
    return {{"network", row_.network},
            {"model", row_.model},
            {"batch", work_.batch_size()},
            {"image", work_.image()},
            {"rounds", minimal_ratios_.size()},
            {"static_bytes", trace.static_bytes},
            {"gradient_bytes", trace.gradient_bytes},
            {"plain_activation_bytes", activations(trace, plain_peak_)},
            {"minimal_activation_bytes", activations(trace, minimal_.measured_peak_bytes)},
            {"minimal_predicted_activation_bytes", activations(trace, minimal_.predicted_peak_bytes)},
            {"minimal_cut", cut(minimal_)},
            {"minimal_step_ratio", median(minimal_ratios_)},
            {"floor_activation_bytes", activations(trace, floor_bytes(trace))},
            {"floor_cut", 1 - static_cast<double>(activations(trace, floor_bytes(trace))) / plain},
            {"first_activation_bytes", activations(trace, first_.measured_peak_bytes)},
            {"budget_activation_bytes", activations(trace, budget_.measured_peak_bytes)},
            {"budget_cut", cut(budget_)},
            {"budget_step_ratio", median(budget_ratios_)},
            {"bits_equal", equal_.all()}};
  }

  const PaperRow& row_;
  Workload work_;
  Session session_;
  torch::Tensor data_, target_;
  StepReport first_, minimal_, budget_;
  Plan minimal_plan_;
  std::vector<double> minimal_ratios_, budget_ratios_;
  int64_t plain_peak_ = 0;
  Equality equal_;
};

Json machine() {
  Json json{{"processor", "unknown"}, {"cores", std::thread::hardware_concurrency()}};
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    if (line.rfind("model name", 0) == 0) json["processor"] = line.substr(line.find(':') + 2);
  }
  struct sysinfo system {};
  if (sysinfo(&system) == 0) json["memory_bytes"] = static_cast<int64_t>(system.totalram) * system.mem_unit;
  json["torch"] = TORCH_VERSION;
  json["torch_threads"] = at::get_num_threads();
  return json;
}

int64_t batch_of(const PaperRow& row, double scale) {
  return std::max<int64_t>(2, static_cast<int64_t>(static_cast<double>(row.batch) / scale));
}

/// The rows asked for; InputError for a name that is not in the table.
std::vector<PaperRow> chosen(const std::string& only) {
  if (only.empty()) return paper_table();
  std::vector<PaperRow> rows;
  std::istringstream list(only);
  for (std::string name; std::getline(list, name, ',');) {
    const auto& table = paper_table();
    const auto found = std::find_if(table.begin(), table.end(), [&](const PaperRow& row) { return row.model == name; });
    if (found == table.end()) {
      std::string known;
      for (const auto& row : table) known += (known.empty() ? "" : ", ") + row.model;
      throw InputError("There is no '" + name + "' in the paper's table; take some of " + known + ".");
    }
    rows.push_back(*found);
  }
  return rows;
}

bool is_of(const Json& measured, const PaperRow& row, int64_t batch) {
  return measured.value("model", "") == row.model && measured.value("batch", int64_t{0}) == batch &&
         measured.value("image", int64_t{0}) == row.image;
}

std::string megabytes(const Json& bytes) { return fixed(bytes.get<double>() / 1e6, 0); }
std::string share(double part) { return fixed(100 * part, 0) + " %"; }

std::string markdown(const Json& table) {
  std::string text =
      "| network | batch | plain MB | `minimal` MB | cut | step | most that can be cut | paper: plain MB | cut | step "
      "| "
      "`budget` at the paper's cut: MB | step | bits |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const PaperRow& row : paper_table()) {
    for (const Json& measured : table.at("rows")) {
      if (measured.value("model", "") != row.model) continue;
      text += "| " + row.network + " | " + std::to_string(measured.at("batch").get<int64_t>()) + " | ";
      if (measured.contains("failure")) {
        text += measured.at("failure").get<std::string>() + " | | | | | | | | | | |\n";
        continue;
      }
      text += megabytes(measured.at("plain_activation_bytes")) + " | " +
              megabytes(measured.at("minimal_activation_bytes")) + " | " + share(measured.at("minimal_cut")) + " | " +
              fixed(measured.at("minimal_step_ratio"), 2) + " | " + share(measured.at("floor_cut")) + " | " +
              std::to_string(row.plain_mb) + " | " + std::to_string(row.cut_percent) + " % | " +
              (row.overhead_percent ? fixed(1 + static_cast<double>(*row.overhead_percent) / 100, 2) : "") + " | " +
              megabytes(measured.at("budget_activation_bytes")) + " | " + fixed(measured.at("budget_step_ratio"), 2) +
              " | " + (measured.at("bits_equal").get<bool>() ? "equal" : "DIFFER") + " |\n";
    }
  }
  return text;
}

/// What an earlier run has written; an empty table if there is none.
Json earlier(const std::string& path) {
  Json empty{{"format", format}, {"version", version}, {"machine", machine()}, {"rows", Json::array()}};
  std::ifstream file(path);
  if (!file) return empty;
  try {
    Json found = Json::parse(file);
    markdown(found);
    if (found.at("format") == format && found.at("version") == version) return found;
  } catch (const Json::exception&) {  // something else than what is written
  }
  throw FormatError("The file " + path +
                    " is not a table that `reforward bench paper` has written; give another --output or remove it.");
}

/// Puts a row in its place among those of other networks and batches.
void enter(Json& table, const PaperRow& row, int64_t batch, Json measured) {
  for (Json& entry : table["rows"]) {
    if (!is_of(entry, row, batch)) continue;
    entry = std::move(measured);
    return;
  }
  table["rows"].push_back(std::move(measured));
}

void run(const Common& common, const Options& options) {
  const std::vector<PaperRow> rows = chosen(options.only);
  const auto text_path = std::filesystem::path(options.output).replace_extension(".md");
  check_writable(options.output);
  check_writable(text_path);
  Json table = earlier(options.output);
  bool right = true;
  {
    Progress progress(common, "measuring", static_cast<int64_t>(rows.size()) * Measurement::steps(options.rounds));
    for (const PaperRow& row : rows) {
      const int64_t batch = batch_of(row, options.scale);
      const bool known = std::any_of(table["rows"].begin(), table["rows"].end(), [&](const Json& measured) {
        return is_of(measured, row, batch) && !measured.contains("failure");
      });
      if (known && !options.again) {
        for (int64_t i = 0; i < Measurement::steps(options.rounds); ++i) progress.advance(row.network);
        continue;
      }
      Json measured;
      try {
        measured = Measurement(row, batch).run(options.rounds, progress);
      } catch (const c10::Error& error) {
        if (std::string(error.what()).find("memory") == std::string::npos) throw;
        measured = {{"model", row.model}, {"batch", batch}, {"image", row.image}, {"failure", "not enough memory"}};
      }
      right &= measured.value("bits_equal", false);
      enter(table, row, batch, std::move(measured));
      write_file(options.output, table.dump(2) + "\n");
      write_file(text_path, markdown(table));
    }
  }
  table["output"] = options.output;
  show(common, table, markdown(table) + "written to " + options.output + " and " + text_path.string() + "\n");
  if (!right) throw CLI::RuntimeError(1);
}

}  // namespace

void add_paper(CLI::App& bench, Common& common) {
  CLI::App* command = add_command(bench, common, "paper", "the table of Feng and Huang (2021), measured here");
  auto options = std::make_shared<Options>();
  command->add_option("--scale", options->scale, "divides the batches, for a quick look")
      ->check(CLI::Range(1.0, 1024.0));
  command->add_option("--rounds", options->rounds, "measured steps of each; medians are shown")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  command->add_option("--only", options->only, "these models, separated by commas");
  command->add_option("-o,--output", options->output, "JSON, with the Markdown table beside; what is there is kept");
  command->add_flag("--again", options->again, "measure what the file has already");
  command->callback([&common, options] { run(common, *options); });
}

}  // namespace reforward::cli
