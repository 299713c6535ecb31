#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace reforward::testing {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Outcome {
  int status = -1;
  std::string out, error;
};

inline std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Runs the program in a folder of its own.
class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "reforward-cli-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  Outcome run(const std::string& arguments, const std::string& before = {}) const {
    const std::string command = "cd '" + folder_.string() + "' && " + before + " '" REFORWARD_PROGRAM "' " + arguments +
                                " >/tmp/reforward-out-" + unique() + " 2>/tmp/reforward-error-" + unique();
    Outcome outcome;
    const int status = std::system(command.c_str());
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    for (auto [text, name] : {std::pair{&outcome.out, "out-"}, std::pair{&outcome.error, "error-"}}) {
      const fs::path path = std::string("/tmp/reforward-") + name + unique();
      *text = text_of(path);
      fs::remove(path);
    }
    return outcome;
  }
  Json run_json(const std::string& arguments, int status = 0) const {
    const Outcome outcome = run(arguments + " --json");
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.error;
    EXPECT_EQ(outcome.error, "") << arguments;
    return Json::parse(outcome.out);  // the whole of it: one document
  }
  /// One sentence on standard error, nothing on standard output, status 2,
  /// nothing left behind. Returns the sentence.
  std::string expect_refused(const std::string& arguments) const {
    const auto before = entries();
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << arguments << "\n" << outcome.error;
    EXPECT_THAT(outcome.error, ::testing::EndsWith(".\n")) << arguments;
    EXPECT_EQ(entries(), before) << arguments;
    return outcome.error;
  }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) names.push_back(entry.path());
    std::sort(names.begin(), names.end());
    return names;
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string unique() const { return folder_.filename().string(); }

  fs::path folder_;
};

}  // namespace reforward::testing
