// Everything a person can get wrong: one sentence, status 2, nothing half-written.

#include "cli/program.h"

namespace reforward::testing {
namespace {

using ::testing::HasSubstr;

const std::string tiny = " --model gpt_tiny --batch 1 --image 8 ";

using Refusals = Program;

TEST_F(Refusals, UnknownNamesAndOptions) {
  EXPECT_THAT(expect_refused("train --model resnet51"), HasSubstr("resnet50"));
  EXPECT_THAT(expect_refused("trace --model nothing"), HasSubstr("nothing"));
  expect_refused("");
  expect_refused("fly");
  expect_refused("train");
  expect_refused("train" + tiny + "--wings");
  expect_refused("train" + tiny + "--optimizer magic");
  EXPECT_THAT(expect_refused("train" + tiny + "--solver magic"), HasSubstr("magic"));
  expect_refused("train" + tiny + "--steps 0");
  expect_refused("train" + tiny + "--batch -3");
  EXPECT_THAT(expect_refused("train --model alexnet --image 20 --steps 1"), HasSubstr("63"));
  expect_refused("train --model gpt_tiny --data fashion-mnist");
}

TEST_F(Refusals, Budgets) {
  for (const std::string budget : {"0", "-1GiB", "12XB", "101%", "lots", "''"}) {
    expect_refused("train" + tiny + "--steps 1 --budget=" + budget);
    if (budget != "''") expect_refused("bench" + tiny + "--rounds 1 --budgets=50%," + budget);
  }
  ASSERT_EQ(run("trace" + tiny + "-o t.json").status, 0);
  for (const std::string budget : {"0", "-1GiB", "12XB", "101%"}) expect_refused("plan t.json --budget=" + budget);
}

/// The largest number in a sentence.
std::string largest_number(const std::string& text) {
  std::string largest;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    const std::string number = text.substr(i, end - i);
    if (number.size() > largest.size() || (number.size() == largest.size() && number > largest)) largest = number;
    i = std::max(end, i + 1);
  }
  return largest;
}

TEST_F(Refusals, ABudgetBelowTheLeastNamesOneThatWorks) {
  ASSERT_EQ(run("trace" + tiny + "-o t.json").status, 0);
  const auto least = largest_number(expect_refused("plan t.json --budget 1KiB -o p.json"));
  const Json plan = run_json("plan t.json --budget " + least + " -o p.json");
  EXPECT_LE(plan["predicted_peak_bytes"], std::stoll(least));
  const auto train_least = largest_number(expect_refused("train" + tiny + "--steps 3 --budget 1KiB"));
  const Json trained = run_json("train" + tiny + "--steps 3 --budget " + train_least);
  EXPECT_LE(trained["measured_peak_bytes"], std::stoll(train_least));
}

TEST_F(Refusals, DataThatCannotBeRead) {
  EXPECT_THAT(expect_refused("train --model resnet18 --image 32 --data nowhere"), HasSubstr("nowhere"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(expect_refused("train --model resnet18 --image 32 --data empty"), HasSubstr("empty"));
  fs::create_directories(folder_ / "set" / "class");
  EXPECT_THAT(expect_refused("train --model resnet18 --image 32 --data set"), HasSubstr("class"));
  write("cut/class/a.jpg", "\xff\xd8\xff\xe0 no more of it");
  EXPECT_THAT(expect_refused("train --model resnet18 --image 64 --data cut --batch 1"), HasSubstr("a.jpg"));
}

TEST_F(Refusals, FilesThatAreNotTracesOrPlans) {
  ASSERT_EQ(run("trace" + tiny + "-o t.json").status, 0);
  ASSERT_EQ(run("plan t.json --budget min -o p.json").status, 0);
  const std::string trace = text_of(folder_ / "t.json"), plan = text_of(folder_ / "p.json");
  write("cut.json", trace.substr(0, trace.size() / 2));
  write("foreign.json", R"({"name": "something else", "version": 1})");
  write("empty.json", "");
  write("plan_cut.json", plan.substr(0, plan.size() - 5));
  for (const std::string name : {"cut.json", "foreign.json", "empty.json", "p.json", "none.json", "."}) {
    expect_refused("plan " + name + " --budget min");
    expect_refused("simulate " + name + " p.json");
  }
  for (const std::string name : {"plan_cut.json", "foreign.json", "empty.json", "t.json", "none.json"}) {
    expect_refused("simulate t.json " + name);
  }
  ASSERT_EQ(run("trace --model gpt_tiny --batch 2 --image 12 -o other.json").status, 0);
  EXPECT_THAT(expect_refused("simulate other.json p.json"), HasSubstr("trace"));
}

TEST_F(Refusals, PlacesThatCannotBeWritten) {
  ASSERT_EQ(run("trace" + tiny + "-o t.json").status, 0);
  fs::create_directories(folder_ / "taken");
  for (const std::string place : {"missing/x.json", "taken", "/proc/x.json"}) {
    expect_refused("trace" + tiny + "-o " + place);
    expect_refused("plan t.json --budget min -o " + place);
    expect_refused("train" + tiny + "--steps 1 --save " + place);
  }
}

}  // namespace
}  // namespace reforward::testing
