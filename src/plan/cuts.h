#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/assemble.h"
#include "plan/index.h"

namespace reforward {

/// Where the row of ops can be cut: before an op, if every value that is made
/// before it and read at or after it can be kept.
struct Cut {
  std::size_t op = 0;
  int64_t frontier_bytes = 0;  ///< what a plan pays for it at most
};

/// By value: the last op that may read it when it runs again; -1: none.
std::vector<int32_t> last_reads(const TraceIndex& index);

/// All possible cuts, ascending; not at the very beginning or end.
std::vector<Cut> possible_cuts(const TraceIndex& index);

/// At most `most` of `cuts`: of each stretch of equally many bytes made, the one
/// with the smallest frontier.
std::vector<Cut> thin_out(const TraceIndex& index, const std::vector<Cut>& cuts, std::size_t most);

/// A cut chosen by a solver. `depth` 0: its frontier is kept from forward;
/// d > 0: it is brought back by a re-forward inside d others.
struct ChosenCut {
  std::size_t op = 0;
  uint8_t depth = 0;
};

/// Each value gets the least depth among the cuts that it crosses.
Levels levels_of(const TraceIndex& index, const std::vector<ChosenCut>& cuts);

/// Cuts of depth 0 that divide the bytes made into `segments` about equal parts.
Levels equal_segments(const TraceIndex& index, std::size_t segments);

}  // namespace reforward
