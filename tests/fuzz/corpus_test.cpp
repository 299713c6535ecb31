// What the fuzzer has found worth keeping goes through its target in every test run.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz/targets.h"

namespace reforward {
namespace {

class Corpus : public ::testing::TestWithParam<std::string> {};

TEST_P(Corpus, GoesThrough) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(REFORWARD_CORPUS) + "/" + GetParam())) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NO_THROW(fuzz_targets().at(GetParam())(text));
    ++files;
  }
  EXPECT_GT(files, 10);
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, ::testing::Values("graph", "trace", "plan"),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace reforward
