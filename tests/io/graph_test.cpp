// Graphs as files: what is written is read, and every bad one is refused in a sentence.

#include "reforward/graph.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "reforward/error.h"

namespace reforward {
namespace {

std::string refusal(const std::string& text) {
  try {
    graph_from_json(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no refusal";
}

std::string with(const std::string& vertices, const std::string& edges, const std::string& more = "") {
  return R"({"source": 0, "target": 3, "vertices": [)" + vertices + R"(], "edges": [)" + edges + "]" + more + "}";
}
const std::string good_vertices = "[0, 9], [1, 5], [2, 7], [3, 9]";
const std::string good_edges = "[0, 1], [1, 2], [2, 3], [0, 2], [0, 2]";

TEST(GraphFile, IsReadAndWritten) {
  const Graph graph = graph_from_json(with(good_vertices, good_edges, R"(, "order": [0, 1, 2, 3], "batch": 8)"));
  EXPECT_EQ(graph.costs, (std::vector<int64_t>{9, 5, 7, 9}));
  EXPECT_EQ(graph.successors, (std::vector<std::vector<int32_t>>{{1, 2}, {2}, {3}, {}})) << "parallel edges count once";
  const Graph again = graph_from_json(to_json(graph));
  EXPECT_EQ(again.ids, graph.ids);
  EXPECT_EQ(again.costs, graph.costs);
  EXPECT_EQ(again.successors, graph.successors);
  EXPECT_EQ(again.order, graph.order);
}

struct Bad {
  std::string name, text, says;
};
class BadGraph : public ::testing::TestWithParam<Bad> {};

TEST_P(BadGraph, IsRefusedInASentence) {
  const std::string said = refusal(GetParam().text);
  EXPECT_NE(said.find(GetParam().says), std::string::npos) << said;
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_EQ(said.back(), '.');
}

INSTANTIATE_TEST_SUITE_P(
    All, BadGraph,
    ::testing::Values(
        Bad{"Cycle", with(good_vertices, "[0, 1], [1, 2], [2, 1], [2, 3]"), "has a cycle before or at vertex 1"},
        Bad{"CycleApart", with("[0, 9], [1, 5], [2, 7], [3, 9]", "[0, 3], [1, 2], [2, 1]"), "has a cycle"},
        Bad{"Unreachable", with(good_vertices, "[0, 1], [1, 3], [2, 3]"), "no path from its source to vertex 2"},
        Bad{"DeadEnd", with(good_vertices, "[0, 1], [1, 3], [0, 2]"), "no path from vertex 2 to its target"},
        Bad{"EdgeIntoSource", with(good_vertices, good_edges + ", [1, 0]"), "edge into its source"},
        Bad{"EdgeOutOfTarget", with(good_vertices, good_edges + ", [3, 1]"), "edge out of its target"},
        Bad{"ToItself", with(good_vertices, good_edges + ", [1, 1]"), "from vertex 1 to itself"},
        Bad{"Negative", with("[0, 9], [1, -5], [2, 7], [3, 9]", good_edges), "negative cost at vertex 1"},
        Bad{"NotANumber", with("[0, 9], [1, NaN], [2, 7], [3, 9]", good_edges), "not a whole JSON object"},
        Bad{"Null", with("[0, 9], [1, null], [2, 7], [3, 9]", good_edges), "than a whole number"},
        Bad{"Half", with("[0, 9], [1, 0.5], [2, 7], [3, 9]", good_edges), "than a whole number"},
        Bad{"TooLarge", with("[0, 9], [1, 1e300], [2, 7], [3, 9]", good_edges), "than a whole number"},
        Bad{"Unsigned", with("[0, 9], [1, 18446744073709551615], [2, 7], [3, 9]", good_edges), "than a whole number"},
        Bad{"Overflow", with("[0, 9], [1, 200000000000000000], [2, 200000000000000000], [3, 9]", good_edges),
            "add up to more than 2^58"},
        Bad{"Duplicate", with("[0, 9], [1, 5], [1, 7], [3, 9]", good_edges), "has vertex 1 twice"},
        Bad{"UnknownVertex", with(good_vertices, good_edges + ", [1, 8]"), "names vertex 8"},
        Bad{"Pair", with("[0, 9, 1], [1, 5], [2, 7], [3, 9]", good_edges), "than a pair of numbers"},
        Bad{"NoVertices", R"({"source": 0, "target": 1, "edges": []})", "lacks the list 'vertices'"},
        Bad{"NoEdges", R"({"source": 0, "target": 1, "vertices": []})", "lacks the list 'edges'"},
        Bad{"NoSource", R"({"target": 1, "vertices": [[0, 1], [1, 1]], "edges": [[0, 1]]})", "lacks its 'source'"},
        Bad{"SameEnds", R"({"source": 0, "target": 0, "vertices": [[0, 1], [1, 1]], "edges": [[0, 1]]})",
            "same source and target"},
        Bad{"OrderShort", with(good_vertices, good_edges, R"(, "order": [0, 1, 2])"), "name every vertex once"},
        Bad{"OrderTwice", with(good_vertices, good_edges, R"(, "order": [0, 1, 1, 3])"), "name every vertex once"},
        Bad{"OrderWrong", with(good_vertices, good_edges, R"(, "order": [0, 2, 1, 3])"),
            "vertex 2 comes before vertex 1"},
        Bad{"Truncated", R"({"source": 0, "target")", "not a whole JSON object"},
        Bad{"Empty", "", "not a whole JSON object"}, Bad{"AList", "[]", "not a whole JSON object"},
        Bad{"Deep", std::string(1000000, '['), "nested too deeply"}),
    [](const auto& test) { return test.param.name; });

TEST(GraphFile, OfAHundredMegabytesIsNotRead) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "reforward_large_graph.json";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("{", file);
  std::fclose(file);
  std::filesystem::resize_file(path, 100'000'000);
  EXPECT_THROW(read_graph(path), InputError);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace reforward
