#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reforward/plan.h"
#include "reforward/trace.h"

namespace reforward {

/// Live bytes over the events of a step, predicted or measured.
struct Timeline {
  struct Point {
    enum class Kind : uint8_t { forward_op, reforward_op, backward_event };
    Kind kind = Kind::forward_op;
    int32_t index = 0;       ///< OpId, or index into Trace::backward
    int64_t live_bytes = 0;  ///< when it starts; static bytes included
    int64_t peak_bytes = 0;  ///< the most until the next point starts
  };
  std::vector<Point> points;
  int64_t peak_bytes = 0;
  std::size_t peak_point = 0;  ///< the first point that reaches it
  double recompute_seconds = 0;
  int64_t reforwarded_ops = 0;  ///< op runs, an op that runs twice counts twice
};

/// The only judge of a plan. Exact under Note [Base bytes] and Note [What a plan
/// means]; linear in the size of trace and plan.
/// Throws FormatError if the plan cannot run on this trace: a value that is
/// needed is not there, a kept value is overwritten or unknown, indices out of
/// range, or (when the plan has one) another fingerprint.
Timeline simulate(const Trace& trace, const Plan& plan);

/// simulate's peak and seconds without the points: what solvers call in a loop.
struct Cost {
  int64_t peak_bytes = 0;
  double recompute_seconds = 0;
};
Cost evaluate(const Trace& trace, const Plan& plan);

}  // namespace reforward
