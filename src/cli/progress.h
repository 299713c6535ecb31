#pragma once

#include <chrono>
#include <string>

#include "cli/command.h"

namespace reforward::cli {

/// A bar on standard error for what takes over a second; nothing where that is
/// no terminal, or when quiet.
class Progress {
 public:
  Progress(const Common& common, std::string what, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(const std::string& note = {});

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string& note);

  bool shown_;
  bool drawn_ = false;
  std::string what_;
  int64_t total_, done_ = 0;
  Clock::time_point started_;
};

}  // namespace reforward::cli
