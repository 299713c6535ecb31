#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reforward::graph {

/// Numbers by position, all 0 to begin with: adds to a range and knows the largest,
/// each in O(log n).
class RangeMax {
 public:
  explicit RangeMax(std::size_t count) {
    while (leaves_ < count) leaves_ *= 2;
    largest_.resize(2 * leaves_, 0);
    added_.resize(2 * leaves_, 0);
  }

  /// To first..last, both included.
  void add(std::size_t first, std::size_t last, int64_t amount) {
    std::size_t left = first + leaves_, right = last + leaves_;
    for (std::size_t a = left, b = right + 1; a < b; a /= 2, b /= 2) {
      if (a % 2 == 1) apply(a++, amount);
      if (b % 2 == 1) apply(--b, amount);
    }
    while (left > 1) {  // both paths up to the root; once they meet they are one
      left /= 2, right /= 2;
      rebuild(left);
      if (right != left) rebuild(right);
    }
  }
  int64_t largest() const { return largest_[1]; }

 private:
  void apply(std::size_t node, int64_t amount) {
    largest_[node] += amount;
    added_[node] += amount;
  }
  void rebuild(std::size_t node) {
    largest_[node] = std::max(largest_[2 * node], largest_[2 * node + 1]) + added_[node];
  }

  std::size_t leaves_ = 1;
  std::vector<int64_t> largest_, added_;
};

}  // namespace reforward::graph
