// `solve`, `trace --graph` and `bench paper`, as a user runs them.

#include "cli/program.h"

namespace reforward::testing {
namespace {

using ::testing::HasSubstr;
using Solve = Program;

const std::string chain =
    R"({"source": 10, "target": 14, "vertices": [[10, 0], [11, 3], [12, 1], [13, 5], [14, 0]],
        "edges": [[10, 11], [11, 12], [12, 13], [13, 14]]})";

TEST_F(Solve, EverySolverSaysWhatItFound) {
  write("chain.json", chain);
  for (const std::string solver : {"exact", "cuts", "paper"}) {
    const Json json = run_json("solve chain.json --solver " + solver);
    // Storing the middle one leaves runs of 3 and 5.
    EXPECT_EQ(json["cost"], 6) << solver;
    EXPECT_EQ(json["stored"], Json::parse("[12]")) << solver;
    EXPECT_EQ(json["stored_cost"], 1) << solver;
    EXPECT_EQ(json["local_cost"], 5) << solver;
    EXPECT_EQ(json["order"], Json::parse("[10, 11, 12, 13, 14]")) << solver;
    EXPECT_EQ(json["lower_bound"], 6) << solver;
    EXPECT_EQ(json["optimal"], true) << solver;
  }
}

TEST_F(Solve, BadGraphsAreRefused) {
  EXPECT_THAT(expect_refused("solve nothing.json"), HasSubstr("nothing.json"));
  write("deep.json", std::string(100000, '['));
  EXPECT_THAT(expect_refused("solve deep.json"), HasSubstr("nested too deeply"));
  write("chain.json", chain);
  EXPECT_THAT(expect_refused("solve chain.json --solver magic"), HasSubstr("exact, cuts, paper or sqrt"));
  expect_refused("solve chain.json --time 0");
}

TEST_F(Solve, TheGraphOfATraceCanBeSolved) {
  ASSERT_EQ(run("trace --model gpt_tiny --batch 1 --image 8 --graph g.json").status, 0);
  const Json json = run_json("solve g.json --solver cuts");
  EXPECT_GT(json["vertices"], 100);
  EXPECT_GT(json["cost"], 0);
}

TEST_F(Solve, ThePapersTableIsMeasuredAndResumed) {
  EXPECT_THAT(expect_refused("bench"), HasSubstr("--model"));
  EXPECT_THAT(expect_refused("bench paper --only nothing"), HasSubstr("densenet201"));
  const std::string command = "bench paper --scale 512 --only alexnet -o p.json";
  const Json first = run_json(command)["rows"][0];
  EXPECT_EQ(first["batch"], 2);
  EXPECT_EQ(first["bits_equal"], true);
  EXPECT_LE(first["minimal_activation_bytes"], first["plain_activation_bytes"]);
  EXPECT_EQ(run_json(command)["rows"][0], first) << "what was measured is kept";
  EXPECT_THAT(text_of(folder_ / "p.md"), HasSubstr("| AlexNet | 2 |"));
}

}  // namespace
}  // namespace reforward::testing
