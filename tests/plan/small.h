#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "reforward/plan.h"
#include "reforward/trace.h"

namespace reforward::made_up {

/// Traces written by hand, op by op; values are numbered as they are added.
class Small {
 public:
  ValueId external(int64_t bytes = 0);
  /// One op with one fresh output. Workspace is what its peak adds to that.
  ValueId op(std::initializer_list<ValueId> inputs, int64_t bytes, int64_t workspace = 0, double seconds = 1);
  ValueId in_place(ValueId onto, std::initializer_list<ValueId> others = {});
  /// Saves a value for the backward node of the op added last.
  void save(ValueId value);
  Op& last() { return trace.ops.back(); }

  /// Every value dies after its last reader; backward goes through the ops in
  /// reverse: unpacks what each saved, then releases it. No base bytes.
  Trace finish();

  Trace trace;
};

inline Plan plan_of(std::vector<ValueId> keep, std::vector<Reforward> reforwards = {}) {
  Plan plan;
  plan.keep = std::move(keep);
  plan.reforwards = std::move(reforwards);
  return plan;
}

}  // namespace reforward::made_up
