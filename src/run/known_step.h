#pragma once

#include <cstdint>
#include <memory>

#include "reforward/plan.h"
#include "reforward/schedule.h"
#include "reforward/trace.h"
#include "trace/tape.h"

namespace reforward {

/// A kind of step that was traced, and the plan for it.
struct KnownStep {
  std::shared_ptr<const Tape> tape;
  std::shared_ptr<const Trace> trace;
  std::shared_ptr<const Plan> plan;
  Schedule schedule;
  int64_t budget_bytes = 0;      ///< resolved for this trace
  int64_t plain_peak_bytes = 0;  ///< simulated
  double plan_seconds = 0;
  bool measure_again = false;  ///< the last run was not as predicted
  int measurements = 0;        ///< how often it was measured again
};

}  // namespace reforward
