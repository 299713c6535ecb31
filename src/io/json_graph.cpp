#include <algorithm>
#include <unordered_map>
#include <utility>

#include "io/file_text.h"
#include "io/json_reader.h"
#include "reforward/graph.h"
#include "reforward/json.h"

namespace reforward {
namespace {

using io::Json;

constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;
constexpr int most_depth = 8;

[[noreturn]] void refuse(const std::string& what) {
  throw FormatError("The graph " + what + "; see docs/graph-format.md for what a graph is.");
}

/// A graph is three levels deep; what is nested further is not built at all.
Json parse(std::string_view text) {
  bool too_deep = false;
  const Json document = Json::parse(
      text,
      [&too_deep](int depth, Json::parse_event_t, const Json&) {
        too_deep = too_deep || depth > most_depth;
        return !too_deep;
      },
      /*allow_exceptions=*/false);
  if (too_deep) refuse("is nested too deeply");
  if (document.is_discarded() || !document.is_object()) refuse("is not a whole JSON object");
  return document;
}

const Json& list(const Json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end() || !found->is_array()) refuse(std::string("lacks the list '") + name + "'");
  return *found;
}

int64_t whole_number(const Json& value, const std::string& what) {
  // Above 2^63 nlohmann's unsigned numbers would wrap.
  const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
  if (!fits) refuse("has something else than a whole number as " + what);
  return value.get<int64_t>();
}

std::pair<int64_t, int64_t> pair_of(const Json& value, const std::string& what) {
  if (!value.is_array() || value.size() != 2) refuse("has something else than a pair of numbers among its " + what);
  return {whole_number(value[0], "one of its " + what), whole_number(value[1], "one of its " + what)};
}

std::string text_of(const Json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end()) return {};
  if (!found->is_string()) refuse(std::string("has no text in '") + name + "'");
  return found->get<std::string>();
}

class Reader {
 public:
  explicit Reader(const Json& document) : document_(document) {}

  Graph run() {
    graph_.network = text_of(document_, "network");
    graph_.cost_unit = text_of(document_, "cost_unit");
    for (const Json& entry : list(document_, "vertices")) {
      const auto [id, cost] = pair_of(entry, "vertices");
      if (!vertex_.emplace(id, static_cast<int32_t>(graph_.ids.size())).second) {
        refuse("has vertex " + std::to_string(id) + " twice");
      }
      graph_.ids.push_back(id);
      graph_.costs.push_back(cost);
    }
    graph_.successors.resize(graph_.ids.size());
    for (const Json& entry : list(document_, "edges")) {
      const auto [from, to] = pair_of(entry, "edges");
      graph_.successors[static_cast<std::size_t>(vertex(from))].push_back(vertex(to));
    }
    // Parallel edges count once.
    for (auto& next : graph_.successors) {
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
    }
    graph_.source = end("source");
    graph_.target = end("target");
    if (document_.contains("order")) {
      for (const Json& id : list(document_, "order")) graph_.order.push_back(vertex(whole_number(id, "its order")));
      if (graph_.order.empty()) refuse("has an empty order");
    }
    validate(graph_);
    return std::move(graph_);
  }

 private:
  int32_t vertex(int64_t id) const {
    const auto found = vertex_.find(id);
    if (found == vertex_.end()) refuse("names vertex " + std::to_string(id) + ", which is not among its vertices");
    return found->second;
  }
  int32_t end(const char* name) const {
    const auto found = document_.find(name);
    if (found == document_.end()) refuse(std::string("lacks its '") + name + "'");
    return vertex(whole_number(*found, std::string("its ") + name));
  }

  const Json& document_;
  Graph graph_;
  std::unordered_map<int64_t, int32_t> vertex_;
};

}  // namespace

Graph graph_from_json(std::string_view text) { return Reader(parse(text)).run(); }

std::string to_json(const Graph& graph) {
  const auto id = [&](int32_t vertex) { return graph.ids[static_cast<std::size_t>(vertex)]; };
  Json json{{"network", graph.network},   {"cost_unit", graph.cost_unit}, {"source", id(graph.source)},
            {"target", id(graph.target)}, {"vertices", Json::array()},    {"edges", Json::array()}};
  for (std::size_t v = 0; v < graph.ids.size(); ++v) {
    json["vertices"].push_back({graph.ids[v], graph.costs[v]});
    for (const int32_t next : graph.successors[v]) json["edges"].push_back({graph.ids[v], id(next)});
  }
  if (!graph.order.empty()) json["order"] = Json::array();
  for (const int32_t vertex : graph.order) json["order"].push_back(id(vertex));
  return json.dump() + "\n";
}

Graph read_graph(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > most_bytes) {
    throw InputError("The file '" + path.string() +
                     "' is over 64 MiB, more than a graph has; give the file of a graph.");
  }
  return graph_from_json(read_file(path));
}

void write_graph(const std::filesystem::path& path, const Graph& graph) { write_file(path, to_json(graph)); }

}  // namespace reforward
