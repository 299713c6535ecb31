#include <algorithm>
#include <array>

#include "io/file_text.h"
#include "io/json_reader.h"
#include "reforward/json.h"

namespace reforward {
namespace {

using io::Fields;
using io::Json;

constexpr std::array<const char*, 4> event_names{"begin", "unpack", "release", "end"};

Json to_json(const Value& value) {
  Json json{{"bytes", value.bytes}};
  if (value.maker.valid()) json["maker"] = value.maker.index;
  if (value.overwrites.valid()) json["overwrites"] = value.overwrites.index;
  if (value.overwritten) json["overwritten"] = true;
  if (value.requires_grad) json["requires_grad"] = true;
  if (value.dies != Value::never) json["dies"] = value.dies;
  if (!value.name.empty()) json["name"] = value.name;
  return json;
}

Json to_json(const Op& op) {
  Json json{{"name", op.name},          {"inputs", io::indices(op.inputs)}, {"outputs", io::indices(op.outputs)},
            {"seconds", op.seconds},    {"base_bytes", op.base_bytes},      {"peak_bytes", op.peak_bytes},
            {"gap_bytes", op.gap_bytes}};
  if (!op.module.empty()) json["module"] = op.module;
  if (op.random) json["random"] = true;
  if (op.pinned) json["pinned"] = op.pinned_reason;
  return json;
}

Json to_json(const BackwardEvent& event) {
  Json json{{"kind", event_names[static_cast<std::size_t>(event.kind)]}};
  if (event.saved.valid()) json["saved"] = event.saved.index;
  json["base_bytes"] = event.base_bytes;
  json["gap_bytes"] = event.gap_bytes;
  return json;
}

Value value_from(const Fields& fields) {
  Value value;
  value.bytes = fields.get<int64_t>("bytes");
  value.maker.index = fields.get_or<int32_t>("maker", -1);
  value.overwrites.index = fields.get_or<int32_t>("overwrites", -1);
  value.overwritten = fields.get_or<bool>("overwritten", false);
  value.requires_grad = fields.get_or<bool>("requires_grad", false);
  value.dies = fields.get_or<int32_t>("dies", Value::never);
  value.name = fields.get_or<std::string>("name", {});
  return value;
}

Op op_from(const Fields& fields) {
  Op op;
  op.name = fields.get<std::string>("name");
  op.module = fields.get_or<std::string>("module", {});
  op.inputs = fields.get_ids<ValueTag>("inputs");
  op.outputs = fields.get_ids<ValueTag>("outputs");
  op.seconds = fields.get<double>("seconds");
  op.base_bytes = fields.get<int64_t>("base_bytes");
  op.peak_bytes = fields.get<int64_t>("peak_bytes");
  op.gap_bytes = fields.get<int64_t>("gap_bytes");
  op.random = fields.get_or<bool>("random", false);
  op.pinned_reason = fields.get_or<std::string>("pinned", {});
  op.pinned = !op.pinned_reason.empty();
  return op;
}

BackwardEvent event_from(const Fields& fields) {
  BackwardEvent event;
  const auto kind = fields.get<std::string>("kind");
  const auto found = std::find(event_names.begin(), event_names.end(), kind);
  if (found == event_names.end()) {
    throw FormatError("The trace has a backward event of the unknown kind '" + kind + "'; write it anew.");
  }
  event.kind = static_cast<BackwardEvent::Kind>(found - event_names.begin());
  event.saved.index = fields.get_or<int32_t>("saved", -1);
  event.base_bytes = fields.get<int64_t>("base_bytes");
  event.gap_bytes = fields.get<int64_t>("gap_bytes");
  return event;
}

template <class T, class Convert>
Json list_of(const std::vector<T>& from, const Convert& convert) {
  Json list = Json::array();
  for (const T& element : from) list.push_back(convert(element));
  return list;
}

template <class T, class Convert>
void read_list(const Fields& fields, const char* name, std::vector<T>& into, const Convert& convert) {
  const Json& list = fields.list(name);
  into.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) into.push_back(convert(Fields(list[i], fields.at(name, i))));
}

}  // namespace

std::string to_json(const Trace& trace) {
  Json json{{"format", "reforward-trace"},
            {"version", Trace::format_version},
            {"model", trace.model},
            {"batch", trace.batch},
            {"image", trace.image},
            {"device", trace.device},
            {"static_bytes", trace.static_bytes},
            {"gradient_bytes", trace.gradient_bytes},
            {"forward_seconds", trace.forward_seconds},
            {"backward_seconds", trace.backward_seconds},
            {"backward_measured", trace.backward_measured}};
  json["values"] = list_of(trace.values, [](const Value& value) { return to_json(value); });
  json["ops"] = list_of(trace.ops, [](const Op& op) { return to_json(op); });
  json["saved"] = list_of(trace.saved, [](const Saved& saved) {
    return Json{{"value", saved.value.index}, {"op", saved.op.index}};
  });
  json["backward"] = list_of(trace.backward, [](const BackwardEvent& event) { return to_json(event); });
  return json.dump(1, ' ') + "\n";
}

Trace trace_from_json(std::string_view text) {
  const Json json = io::parse_document(text, "reforward-trace", Trace::format_version);
  const Fields fields(json, "The trace");
  Trace trace;
  trace.model = fields.get<std::string>("model");
  trace.batch = fields.get<int64_t>("batch");
  trace.image = fields.get<int64_t>("image");
  trace.device = fields.get<std::string>("device");
  trace.static_bytes = fields.get<int64_t>("static_bytes");
  trace.gradient_bytes = fields.get<int64_t>("gradient_bytes");
  trace.forward_seconds = fields.get<double>("forward_seconds");
  trace.backward_seconds = fields.get<double>("backward_seconds");
  trace.backward_measured = fields.get<bool>("backward_measured");
  read_list(fields, "values", trace.values, value_from);
  read_list(fields, "ops", trace.ops, op_from);
  read_list(fields, "saved", trace.saved, [](const Fields& entry) {
    return Saved{entry.get_id<ValueTag>("value"), entry.get_id<OpTag>("op")};
  });
  read_list(fields, "backward", trace.backward, event_from);
  validate(trace);
  return trace;
}

Trace read_trace(const std::filesystem::path& path) { return trace_from_json(read_file(path)); }
void write_trace(const std::filesystem::path& path, const Trace& trace) { write_file(path, to_json(trace)); }

}  // namespace reforward
