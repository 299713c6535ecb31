#include "cli/output.h"
#include "reforward/reforward.h"

namespace reforward::cli {
namespace {

struct Options {
  std::string trace, plan;
  bool timeline = false;
};

std::string place_of(const Trace& trace, const Timeline::Point& point) {
  using Kind = Timeline::Point::Kind;
  const auto op_text = [&](const Op& op) { return op.name + (op.module.empty() ? "" : " of " + op.module); };
  const auto index = static_cast<std::size_t>(point.index);
  if (point.kind == Kind::forward_op) return "forward, " + op_text(trace.ops[index]);
  if (point.kind == Kind::reforward_op) return "re-forward, " + op_text(trace.ops[index]);
  const BackwardEvent& event = trace.backward[index];
  if (!event.saved.valid()) return "backward";
  return "backward of " + op_text(trace.ops[trace.saved[event.saved.at()].op.at()]);
}

void run(const Common& common, const Options& options) {
  const Trace trace = read_trace(options.trace);
  const Plan plan = read_plan(options.plan);
  const Timeline timeline = simulate(trace, plan);
  const int64_t plain = evaluate(trace, plan_keep(trace)).peak_bytes;
  const std::string place = place_of(trace, timeline.points[timeline.peak_point]);

  Json json;
  describe(trace, json);
  describe(trace, plan, json);
  json["plain_peak_bytes"] = plain;
  json["predicted_peak_bytes"] = timeline.peak_bytes;
  json["recompute_seconds"] = timeline.recompute_seconds;
  json["reforwarded_ops"] = timeline.reforwarded_ops;
  json["peak_at"] = place;
  if (options.timeline) json["timeline"] = Json::parse(to_json(timeline));
  show(common, json,
       "peak " + format_bytes(timeline.peak_bytes) + " (plain " + format_bytes(plain) + "), reached in " + place +
           "\n" + std::to_string(timeline.reforwarded_ops) + " ops are run again, for " +
           fixed(timeline.recompute_seconds, 3) + " s\n");
}

}  // namespace

void add_simulate(CLI::App& app, Common& common) {
  CLI::App* command = add_command(app, common, "simulate", "what a plan needs, event by event");
  auto options = std::make_shared<Options>();
  command->add_option("trace", options->trace, "a trace's file")->required();
  command->add_option("plan", options->plan, "the file of a plan for it")->required();
  command->add_flag("--timeline", options->timeline, "with --json: every point of it");
  command->callback([&common, options] { run(common, *options); });
}

}  // namespace reforward::cli
