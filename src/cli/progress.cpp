#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace reforward::cli {

Progress::Progress(const Common& common, std::string what, int64_t total)
    : shown_(!common.quiet && ::isatty(STDERR_FILENO) == 1),
      what_(std::move(what)),
      total_(std::max<int64_t>(total, 1)),
      started_(Clock::now()) {
  draw({});
}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(const std::string& note) {
  done_ = std::min(done_ + 1, total_);
  draw(note);
}

void Progress::draw(const std::string& note) {
  if (!shown_) return;
  constexpr int64_t width = 30;
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const auto filled = static_cast<std::size_t>(width * done_ / total_);
  std::string bar(filled, '#');
  bar.resize(width, '.');
  std::string left;
  if (done_ > 0 && done_ < total_) {
    const double rest = seconds / static_cast<double>(done_) * static_cast<double>(total_ - done_);
    left = ", " + std::to_string(static_cast<int64_t>(rest + 0.5)) + " s left";
  }
  std::fprintf(stderr, "\r\033[K%s [%s] %lld/%lld%s %s", what_.c_str(), bar.c_str(), static_cast<long long>(done_),
               static_cast<long long>(total_), left.c_str(), note.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace reforward::cli
