#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reforward/ids.h"
#include "reforward/trace.h"

namespace reforward {

/// A run of recorded ops, in recorded order, that brings dropped values back.
struct Reforward {
  std::vector<OpId> ops;      ///< ascending
  std::vector<ValueId> keep;  ///< made by `ops` and still wanted when it is over
};

/// Which values to keep, and which re-forwards to run.
///
/// Note [What a plan means]
/// Forward: a tracked value in `keep` is held from the end of its maker; every
/// other one lives only as long as the user's code holds it (`Value::dies`).
/// Backward: when an unpack event asks for a value that is not held, the pending
/// re-forwards run in their order up to and including the first that has the
/// value in its `keep`; then the step goes on.
/// Inside a re-forward each op finds its inputs among externals, held values and
/// values made earlier in it. An op that writes in place takes over the buffer
/// of the version it overwrites if nobody needs that version afterwards, and
/// works on a copy of it otherwise. A value is freed as soon as its last use is
/// over. The uses of a held value are the releases of its saved entries and the
/// reads of later re-forwards, up to the moment at which a later re-forward
/// makes the value anew and keeps it; that must not be between an unpack of the
/// value and its release. What a re-forward makes although it is held beyond it
/// (statistics beside a normalization's output) is dropped at once: the held
/// instance stays and is read.
/// `compile_schedule` (schedule.h) turns this into lists; simulate and run both
/// obey those, so what is predicted is what happens.
struct Plan {
  static constexpr int format_version = 1;

  std::string solver;
  uint64_t trace_fingerprint = 0;
  int64_t budget_bytes = 0;  ///< 0: the solver was given none

  std::vector<ValueId> keep;          ///< ascending
  std::vector<Reforward> reforwards;  ///< in the order in which they run

  // Filled in by simulate; bytes of the whole device, static bytes included.
  int64_t predicted_peak_bytes = 0;
  double recompute_seconds = 0;
};

}  // namespace reforward
