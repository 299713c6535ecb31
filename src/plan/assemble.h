#pragma once

#include <cstdint>
#include <vector>

#include "plan/index.h"
#include "reforward/plan.h"

namespace reforward {

/// By value: at which depth it is brought into memory for backward.
/// 0: kept from the forward pass. 1: brought back by an outer re-forward, which
/// keeps it for the re-forwards inside its stretch. 2, 3, ...: likewise, further
/// in. `leaf`: made again only where a backward node asks for it.
///
/// Note [Plans as levels]
/// Levels say everything that a solver decides. The rest follows by demand: a
/// leaf that is unpacked must be made again; the ops for it are found by going
/// back to values of lower levels, and those are needed then, and so on outward.
/// Ops that hang together through values of their own level or deeper form one
/// re-forward, which runs at the first unpack that needs it. So cutting the row
/// of ops means keeping the frontier at the cut: what lies between two cuts
/// falls apart from the rest by itself, and if more is kept than a frontier,
/// it falls into smaller re-forwards, each run as late as possible.
/// Levels of values that are not needed have no effect.
using Levels = std::vector<uint8_t>;
constexpr uint8_t leaf = 255;

/// Turns levels into plans. Reuses its buffers: solvers call it in a loop.
class Assembler {
 public:
  explicit Assembler(const TraceIndex& index);

  /// Levels that cannot be are put right first: what must be kept has level 0,
  /// and what is overwritten later is always a leaf (Note [What can be brought back]).
  Plan assemble(const Levels& levels);

 private:
  struct Run {
    int32_t trigger;
    uint8_t level;
    std::vector<OpId> ops;
    std::vector<ValueId> keep;
  };
  void put_right(const Levels& levels);
  void slice(uint8_t level);
  void collect(uint8_t level);
  std::size_t root(std::size_t op);
  void need(ValueId value, int32_t event);

  const TraceIndex& index_;
  Levels levels_;
  std::vector<int32_t> needed_at_;  // by value: first event that needs it
  std::vector<uint8_t> wanted_;     // by value, in the slice of one level
  std::vector<uint8_t> runs_;       // by op, likewise
  std::vector<uint32_t> group_;     // by op: union-find over the ops of a slice
  std::vector<int32_t> trigger_;    // by op that is the root of a group
  std::vector<int32_t> run_of_;     // by op that is the root of a group
  std::vector<Run> found_;
};

/// All values that can be dropped are leaves.
Levels drop_all(const TraceIndex& index);

}  // namespace reforward
