// Each command's result, read as another program would: --json.

#include "cli/program.h"

namespace reforward::testing {
namespace {

const std::string tiny = " --model gpt_tiny --batch 8 --image 64 ";

using Commands = Program;

void expect_keys(const Json& json, const std::vector<const char*>& keys) {
  for (const char* key : keys) EXPECT_TRUE(json.contains(key)) << key;
}

TEST_F(Commands, ModelsAreListed) {
  const Json json = run_json("models");
  EXPECT_GE(json["models"].size(), 10U);
  for (const auto& model : json["models"]) {
    if (model["model"] == "resnet50") {
      EXPECT_EQ(model["parameters"], 25557032);
    }
  }
}

TEST_F(Commands, TracePlanAndSimulateAgree) {
  const Json trace = run_json("trace" + tiny + "-o t.json");
  expect_keys(trace, {"model", "batch", "image", "ops", "saved_values", "pinned_ops", "static_bytes", "gradient_bytes",
                      "plain_peak_bytes", "minimal_peak_bytes", "trace_seconds"});
  EXPECT_EQ(trace["model"], "gpt_tiny");
  EXPECT_EQ(trace["batch"], 8);
  EXPECT_GE(trace["static_bytes"], 672128 * 4) << "parameters are there before the step";
  EXPECT_EQ(trace["gradient_bytes"], 672128 * 4);
  EXPECT_LT(trace["minimal_peak_bytes"], trace["plain_peak_bytes"]);

  const Json plan = run_json("plan t.json --budget 90% -o p.json");
  expect_keys(plan, {"solver", "budget_bytes", "plain_peak_bytes", "minimal_peak_bytes", "predicted_peak_bytes",
                     "plan_seconds", "recompute_seconds", "kept_values", "dropped_values"});
  EXPECT_LE(plan["predicted_peak_bytes"], plan["budget_bytes"]);
  EXPECT_EQ(plan["kept_values"].get<int>() + plan["dropped_values"].get<int>(), trace["saved_values"].get<int>());
  const Json simulated = run_json("simulate t.json p.json --timeline");
  EXPECT_EQ(simulated["predicted_peak_bytes"], plan["predicted_peak_bytes"]);
  int64_t peak = 0;
  for (const auto& point : simulated["timeline"]["points"]) peak = std::max(peak, point["peak_bytes"].get<int64_t>());
  EXPECT_EQ(peak, plan["predicted_peak_bytes"]);

  const Json keep = run_json("plan t.json --budget 100%");
  EXPECT_EQ(keep["dropped_values"], 0);
  EXPECT_EQ(keep["recompute_seconds"], 0.0);
  EXPECT_EQ(keep["predicted_peak_bytes"], trace["plain_peak_bytes"]);
  for (const std::string solver : {"minimal", "sqrt", "keep", "budget"}) {
    EXPECT_EQ(run_json("plan t.json --budget min --solver " + solver)["solver"], solver);
  }
}

TEST_F(Commands, TrainingGivesThePlainBitsWithinItsBudget) {
  for (const std::string optimizer : {"sgd", "adamw"}) {
    const Json json = run_json("train" + tiny + "--budget 80% --steps 4 --compare --optimizer " + optimizer);
    expect_keys(json, {"model",
                       "batch",
                       "image",
                       "solver",
                       "budget_bytes",
                       "plain_peak_bytes",
                       "minimal_peak_bytes",
                       "predicted_peak_bytes",
                       "measured_peak_bytes",
                       "static_bytes",
                       "gradient_bytes",
                       "plan_seconds",
                       "trace_seconds",
                       "recompute_seconds",
                       "step_ratio",
                       "ops",
                       "saved_values",
                       "kept_values",
                       "dropped_values",
                       "pinned_ops"});
    for (const char* key : {"loss_equal", "gradients_equal", "buffers_equal", "random_state_equal"}) {
      EXPECT_TRUE(json[key].get<bool>()) << key;
    }
    EXPECT_LE(json["measured_peak_bytes"], json["budget_bytes"]);
    EXPECT_NEAR(json["predicted_peak_bytes"].get<double>() / json["measured_peak_bytes"].get<double>(), 1.0, 0.01);
    EXPECT_EQ(json["forward_calls"], 4) << "the user's forward runs once a step";
    EXPECT_EQ(json["losses"].size(), 4U);
    EXPECT_EQ(json["measured_plain_peak_bytes"], json["plain_peak_bytes"])
        << "the plain peak is known without running it";
  }
}

TEST_F(Commands, ASmallerLastBatchGoesThrough) {
  // Five grey images as PNG would need a writer: Fashion-MNIST's last batch is smaller too, far off.
  const std::string one_pixel_png(
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9c"
      "c`\0\0\0\x02\0\x01H\xaf\xa4q\0\0\0\0IEND\xae"
      "B`\x82",
      67);
  for (int i = 0; i < 5; ++i)
    write("set/class" + std::to_string(i % 2) + "/" + std::to_string(i) + ".png", one_pixel_png);
  const Json json = run_json(
      "train --model resnet18 --image 64 --data set --batch 2 --steps 6 --budget 100% --solver minimal --compare");
  EXPECT_TRUE(json["gradients_equal"].get<bool>());
  EXPECT_TRUE(json["within_budget"].get<bool>());
}

TEST_F(Commands, TheTrainedParametersAreSaved) {
  ASSERT_EQ(run("train" + tiny + "--steps 2 --save model.pt --quiet").status, 0);
  EXPECT_GT(fs::file_size(folder_ / "model.pt"), 672128U * 4);
  EXPECT_EQ(text_of(folder_ / "model.pt").substr(0, 2), "PK") << "an archive as torch::load reads it";
  EXPECT_EQ(entries().size(), 1U);
}

TEST_F(Commands, BenchMeasuresEachBudget) {
  const Json json = run_json("bench" + tiny + "--budgets 100%,80%,min --rounds 1");
  ASSERT_EQ(json["budgets"].size(), 3U);
  for (const auto& row : json["budgets"]) {
    EXPECT_LE(row["measured_peak_bytes"], row["budget_bytes"]);
    EXPECT_TRUE(row["gradients_equal"].get<bool>());
    EXPECT_GT(row["step_ratio"], 0.0);
  }
  EXPECT_GT(json["budgets"][0]["measured_peak_bytes"], json["budgets"][2]["measured_peak_bytes"]);
}

TEST_F(Commands, PeopleGetTextAndOnlyWhenTheyWantIt) {
  EXPECT_THAT(run("models").out, ::testing::HasSubstr("DenseNet-121"));
  EXPECT_EQ(run("models --quiet").out, "");
  EXPECT_EQ(run("--help").status, 0);
}

/// A step that fits only if reforward is there from the first one on.
TEST_F(Commands, TrainsWhereThePlainStepDies) {
  if (std::system("prlimit --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "prlimit is not installed";
  const std::string network = " --model densenet121 --batch 16 --image 224 --steps 2 --quiet ";
  // The plain step needs 2.1 GB of tensors, the least possible 0.4 GB; the
  // program with its libraries maps about 1 GB.
  const std::string limit = "prlimit --as=2100000000";
  const Outcome plain = run("train" + network + "--solver keep", limit);
  EXPECT_EQ(plain.status, 2) << plain.out;
  EXPECT_THAT(plain.error, ::testing::HasSubstr("memory"));
  const Outcome planned = run("train" + network + "--budget min", limit);
  EXPECT_EQ(planned.status, 0) << planned.error;
}

}  // namespace
}  // namespace reforward::testing
