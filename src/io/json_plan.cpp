#include <array>
#include <charconv>
#include <cstdio>

#include "io/file_text.h"
#include "io/json_reader.h"
#include "reforward/json.h"

namespace reforward {
namespace {

using io::Fields;
using io::Json;

// JSON's numbers are doubles to many readers: 64 bits are written as text.
std::string to_hex(uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

uint64_t from_hex(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw FormatError("The plan's trace_fingerprint '" + text + "' is not a hexadecimal number; write it anew.");
  }
  return number;
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json json{{"format", "reforward-plan"},
            {"version", Plan::format_version},
            {"solver", plan.solver},
            {"trace_fingerprint", to_hex(plan.trace_fingerprint)},
            {"budget_bytes", plan.budget_bytes},
            {"predicted_peak_bytes", plan.predicted_peak_bytes},
            {"recompute_seconds", plan.recompute_seconds},
            {"keep", io::indices(plan.keep)}};
  json["reforwards"] = Json::array();
  for (const Reforward& reforward : plan.reforwards) {
    json["reforwards"].push_back({{"ops", io::indices(reforward.ops)}, {"keep", io::indices(reforward.keep)}});
  }
  return json.dump() + "\n";
}

Plan plan_from_json(std::string_view text) {
  const Json json = io::parse_document(text, "reforward-plan", Plan::format_version);
  const Fields fields(json, "The plan");
  Plan plan;
  plan.solver = fields.get<std::string>("solver");
  plan.trace_fingerprint = from_hex(fields.get<std::string>("trace_fingerprint"));
  plan.budget_bytes = fields.get<int64_t>("budget_bytes");
  plan.predicted_peak_bytes = fields.get<int64_t>("predicted_peak_bytes");
  plan.recompute_seconds = fields.get<double>("recompute_seconds");
  plan.keep = fields.get_ids<ValueTag>("keep");
  const Json& list = fields.list("reforwards");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Fields entry(list[i], fields.at("reforwards", i));
    plan.reforwards.push_back({entry.get_ids<OpTag>("ops"), entry.get_ids<ValueTag>("keep")});
  }
  return plan;
}

std::string to_json(const Timeline& timeline) {
  static constexpr std::array<const char*, 3> kinds{"forward_op", "reforward_op", "backward_event"};
  Json json{{"peak_bytes", timeline.peak_bytes},
            {"peak_point", timeline.peak_point},
            {"recompute_seconds", timeline.recompute_seconds},
            {"reforwarded_ops", timeline.reforwarded_ops}};
  json["points"] = Json::array();
  for (const auto& point : timeline.points) {
    json["points"].push_back({{"kind", kinds[static_cast<std::size_t>(point.kind)]},
                              {"index", point.index},
                              {"live_bytes", point.live_bytes},
                              {"peak_bytes", point.peak_bytes}});
  }
  return json.dump() + "\n";
}

Plan read_plan(const std::filesystem::path& path) { return plan_from_json(read_file(path)); }
void write_plan(const std::filesystem::path& path, const Plan& plan) { write_file(path, to_json(plan)); }

}  // namespace reforward
