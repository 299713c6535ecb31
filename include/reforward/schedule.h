#pragma once

#include <cstdint>
#include <vector>

#include "reforward/plan.h"
#include "reforward/trace.h"

namespace reforward {

/// A plan compiled into what to do when. See Note [What a plan means].
struct Schedule {
  struct Step {
    OpId op;
    /// Versions that `op` writes over in place but that somebody still needs:
    /// copy the buffer first and let the op work on the copy.
    std::vector<ValueId> copy_first;
    /// Values whose last use is over when the op is done: drop our hold.
    std::vector<ValueId> free_after;
  };
  struct Run {
    std::vector<Step> steps;
    std::vector<ValueId> keep;
    /// For each of `keep`: how many releases of saved entries this instance of
    /// the value serves before it is freed; -1 if a read by a later re-forward is
    /// its last use (then a `free_after` there frees it); the largest int32_t if
    /// an entry was unpacked and is never released (it outlives the step).
    /// Releases count from the beginning of backward.
    std::vector<int32_t> releases;
  };
  std::vector<ValueId> keep;           ///< held from forward; what nobody uses is left out
  std::vector<int32_t> keep_releases;  ///< as Run::releases
  std::vector<Run> runs;               ///< one per Plan::reforwards; empty if no event reaches it
};

/// Throws FormatError when the plan cannot run on the trace (see simulate).
Schedule compile_schedule(const Trace& trace, const Plan& plan);

}  // namespace reforward
