#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reforward/budget.h"
#include "reforward/error.h"
#include "reforward/json.h"

namespace reforward {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

TEST(Budget, ReadsAmountsSharesAndTheLeast) {
  const std::vector<std::pair<const char*, int64_t>> amounts{
      {"1", 1},       {"123456", 123456}, {"2GiB", 2147483648}, {"750MB", 750000000},   {"1.5 GB", 1500000000},
      {"1KiB", 1024}, {"3B", 3},          {"1e3", 1000},        {"1TiB", 1099511627776}};
  for (const auto& [text, bytes] : amounts) {
    const Budget budget = parse_budget(text);
    EXPECT_EQ(budget.kind, Budget::Kind::bytes) << text;
    EXPECT_EQ(budget.bytes, bytes) << text;
  }
  EXPECT_EQ(parse_budget("60%").fraction, 0.6);
  EXPECT_EQ(parse_budget("100%").fraction, 1.0);
  EXPECT_EQ(parse_budget("min").kind, Budget::Kind::least);
}

TEST(Budget, RefusesWhatIsNone) {
  for (const char* text : {"", "0", "-1GiB", "12XB", "101%", "%", "0%", "-5%", "min ", "GiB", "nan", "inf", "1e30",
                           "1 2", "0x10", "1GiBs", "0.2", "two"}) {
    EXPECT_THROW(parse_budget(text), InputError) << text;
  }
}

TEST(Budget, TextReadsBack) {
  for (const char* text : {"60%", "12.5%", "min", "4096"}) {
    const Budget once = parse_budget(text), twice = parse_budget(to_string(once));
    EXPECT_EQ(once.kind, twice.kind);
    EXPECT_EQ(once.bytes, twice.bytes);
    EXPECT_EQ(once.fraction, twice.fraction);
  }
}

TEST(Budget, ResolvesAgainstPlainAndLeast) {
  EXPECT_EQ(resolve(parse_budget("50%"), 1001, 7), 500);
  EXPECT_EQ(resolve(parse_budget("100%"), 1001, 7), 1001);
  EXPECT_EQ(resolve(parse_budget("min"), 1001, 7), 7);
  EXPECT_EQ(resolve(parse_budget("64"), 1001, 7), 64);
}

TEST(Budget, IsShownInTheUnitThatFits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(3221225472), "3.0 GiB");
}

Trace small_trace() {
  Trace trace;
  trace.model = "net \"quoted\"";
  trace.batch = 3;
  trace.image = 5;
  trace.static_bytes = 1000;
  trace.gradient_bytes = 40;
  trace.forward_seconds = 0.1;
  trace.backward_seconds = 1.0 / 3.0;
  trace.backward_measured = true;
  trace.values.resize(3);
  trace.values[0] = {.bytes = 40, .requires_grad = true, .name = "layer.weight"};
  trace.values[1] = {.bytes = 100, .maker = OpId(std::size_t{0}), .overwritten = true, .dies = 1};
  trace.values[2] = {.bytes = 100, .maker = OpId(std::size_t{1}), .overwrites = ValueId(std::size_t{1}), .dies = 3};
  const ValueId weight(std::size_t{0}), first(std::size_t{1}), second(std::size_t{2});
  trace.ops.resize(2);
  trace.ops[0] = {.name = "aten::mm",
                  .module = "layer",
                  .inputs = {weight},
                  .outputs = {first},
                  .seconds = 1e-7 / 3,
                  .peak_bytes = 130};
  trace.ops[1] = {.name = "aten::relu_",
                  .inputs = {first},
                  .outputs = {second},
                  .seconds = 0.25,
                  .base_bytes = 8,
                  .gap_bytes = 9,
                  .random = true};
  trace.saved = {{second, OpId(std::size_t{1})}};
  using Kind = BackwardEvent::Kind;
  const SavedId saved(std::size_t{0});
  trace.backward = {
      {Kind::begin, {}, 8, 9}, {Kind::unpack, saved, 8, 60}, {Kind::release, saved, 48, 48}, {Kind::end, {}, 40, 40}};
  return trace;
}

TEST(TraceJson, ReadsBackWhatWasWritten) {
  const Trace trace = small_trace();
  const std::string text = to_json(trace);
  const Trace back = trace_from_json(text);
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.model, trace.model);
  EXPECT_EQ(back.ops[0].seconds, trace.ops[0].seconds) << "to the last bit";
  EXPECT_EQ(back.backward_seconds, trace.backward_seconds);
  EXPECT_EQ(back.values[2].overwrites, trace.values[2].overwrites);
  EXPECT_EQ(back.values[0].dies, Value::never);
  EXPECT_EQ(back.values[0].name, "layer.weight");
  EXPECT_TRUE(back.ops[1].random);
  EXPECT_EQ(back.backward[1].gap_bytes, 60);
  EXPECT_EQ(fingerprint(back), fingerprint(trace));
}

TEST(TraceJson, EveryTruncationIsRefused) {
  const std::string text = to_json(small_trace());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    EXPECT_THROW(trace_from_json(text.substr(0, length)), FormatError) << length;
  }
}

/// The trace's JSON with one change.
std::string changed(const std::function<void(Json&)>& change) {
  Json json = Json::parse(to_json(small_trace()));
  change(json);
  return json.dump();
}

TEST(TraceJson, DamageIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(Json&)>>> damages{
      {"foreign",
       [](Json& json) {
         json = Json{{"hello", 1}};
       }},
      {"a list",
       [](Json& json) {
         json = Json::array({1, 2});
       }},
      {"a plan", [](Json& json) { json["format"] = "reforward-plan"; }},
      {"another version", [](Json& json) { json["version"] = 99; }},
      {"no version", [](Json& json) { json.erase("version"); }},
      {"no ops", [](Json& json) { json.erase("ops"); }},
      {"ops are no list", [](Json& json) { json["ops"] = 3; }},
      {"a fraction of a byte", [](Json& json) { json["values"][0]["bytes"] = 1.5; }},
      {"bytes as text", [](Json& json) { json["values"][0]["bytes"] = "40"; }},
      {"negative bytes", [](Json& json) { json["values"][0]["bytes"] = -1; }},
      {"no name", [](Json& json) { json["ops"][0].erase("name"); }},
      {"a value that is not there", [](Json& json) { json["ops"][0]["inputs"][0] = 17; }},
      {"a huge index", [](Json& json) { json["ops"][0]["inputs"][0] = 5000000000; }},
      {"a negative index", [](Json& json) { json["saved"][0]["value"] = -7; }},
      {"another maker", [](Json& json) { json["values"][2]["maker"] = 0; }},
      {"an unknown event", [](Json& json) { json["backward"][1]["kind"] = "explode"; }},
      {"a release before its unpack is the end", [](Json& json) { json["backward"].erase(3); }},
      {"an unpack of nothing", [](Json& json) { json["backward"][1]["saved"] = 4; }},
  };
  EXPECT_NO_THROW(trace_from_json(changed([](Json&) {})));
  for (const auto& [name, change] : damages) EXPECT_THROW(trace_from_json(changed(change)), FormatError) << name;
}

TEST(PlanJson, ReadsBackWhatWasWritten) {
  Plan plan;
  plan.solver = "budget";
  plan.trace_fingerprint = 0xfedcba9876543210ULL;
  plan.budget_bytes = 12345678901;
  plan.predicted_peak_bytes = 12345678900;
  plan.recompute_seconds = 0.1 + 0.2;
  plan.keep = {ValueId(std::size_t{2}), ValueId(std::size_t{5})};
  plan.reforwards = {{{OpId(std::size_t{0}), OpId(std::size_t{3})}, {ValueId(std::size_t{4})}}};
  const Plan back = plan_from_json(to_json(plan));
  EXPECT_EQ(to_json(back), to_json(plan));
  EXPECT_EQ(back.trace_fingerprint, plan.trace_fingerprint);
  EXPECT_EQ(back.recompute_seconds, plan.recompute_seconds);
  EXPECT_EQ(back.reforwards[0].ops[1], OpId(std::size_t{3}));
  const std::string text = to_json(plan);
  for (std::size_t length = 0; length + 2 < text.size(); length += 5) {
    EXPECT_THROW(plan_from_json(text.substr(0, length)), FormatError) << length;
  }
  Json json = Json::parse(text);
  json["trace_fingerprint"] = "not hex";
  EXPECT_THROW(plan_from_json(json.dump()), FormatError);
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "reforward-io-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  fs::path folder_;
};

TEST_F(Files, AreWrittenWholeOrNotAtAll) {
  write_file(folder_ / "a", "first");
  write_file(folder_ / "a", "second");
  EXPECT_EQ(text_of(folder_ / "a"), "second");
  EXPECT_EQ(entries(), 1U) << "no temporary file is left";
  EXPECT_THROW(write_file(folder_ / "missing" / "a", "x"), InputError);
  EXPECT_THROW(write_file(folder_, "x"), InputError);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AskingLeavesNothing) {
  write_file(folder_ / "a", "old");
  check_writable(folder_ / "a");
  check_writable(folder_ / "b");
  EXPECT_THROW(check_writable(folder_ / "missing" / "a"), InputError);
  EXPECT_THROW(check_writable(folder_), InputError);
  EXPECT_EQ(entries(), 1U);
  EXPECT_EQ(text_of(folder_ / "a"), "old");
}

TEST_F(Files, TracesGoThroughFiles) {
  write_trace(folder_ / "t.json", small_trace());
  EXPECT_EQ(to_json(read_trace(folder_ / "t.json")), to_json(small_trace()));
  EXPECT_THROW(read_trace(folder_ / "none.json"), InputError);
  EXPECT_THROW(read_trace(folder_), InputError);
}

}  // namespace
}  // namespace reforward
