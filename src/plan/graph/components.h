#pragma once

#include <cstdint>
#include <vector>

#include "plan/graph/ordered.h"
#include "plan/graph/range_max.h"

namespace reforward::graph {

/// A set of stored positions with its components, kept up to date as single positions
/// go in and out of it: O(component) to store, O(smaller components) to take out.
class Components {
 public:
  Components(const Ordered& graph, const std::vector<char>& stored);

  bool stored(int32_t p) const { return of_[p] == none; }
  int64_t cost() const { return stored_cost_ + alive_.largest(); }
  void toggle(int32_t p) { stored(p) ? take_out(p) : store(p); }
  /// Positions visited so far: a measure of work that no clock knows.
  int64_t work() const { return work_; }
  std::vector<char> set() const;

 private:
  static constexpr int32_t none = -1;
  struct Component {
    std::vector<int32_t> members;
    int64_t cost = 0;
    int32_t first = 0, last = 0;
  };

  bool inside(int32_t p) const { return graph_.inner(p) && of_[p] != none; }
  int32_t new_component();
  void add_member(int32_t c, int32_t p);
  void show(const Component& component, int sign);
  void store(int32_t p);
  void take_out(int32_t p);
  void grow(int32_t c, int32_t begin, int32_t from);

  const Ordered& graph_;
  RangeMax alive_;
  std::vector<int32_t> of_;  ///< by position: its component; none: stored, source or target
  std::vector<Component> components_;
  std::vector<int32_t> free_;
  int64_t stored_cost_ = 0;
  int64_t work_ = 0;
};

}  // namespace reforward::graph
