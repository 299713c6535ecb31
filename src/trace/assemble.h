#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reforward/trace.h"
#include "trace/tape.h"

namespace reforward {

/// What was measured of a step, beside its tape. Bytes as in Note [Base bytes].
struct Measurement {
  struct OfOp {
    double seconds = 0;
    int64_t base_bytes = 0;
    int64_t peak_bytes = 0;
    int64_t gap_bytes = 0;
  };
  std::vector<OfOp> ops;             ///< by OpId
  std::vector<int32_t> dies;         ///< by ValueId, positions; -1: not seen
  std::vector<int64_t> bytes;        ///< by ValueId
  std::vector<std::string> names;    ///< by ValueId, of externals
  std::vector<Saved> saved;          ///< by SavedId
  std::vector<uint8_t> saved_alive;  ///< by SavedId: not released when backward began
  std::vector<BackwardEvent> backward;
  int64_t static_bytes = 0;
  double forward_seconds = 0;
  double backward_seconds = 0;

  void grow(std::size_t values);
};

/// The plain form of a recorded step. With backward events measured, or, while
/// they are still to come, estimated (`backward_measured` says which).
Trace assemble(const Tape& tape, const Measurement& measured);

/// Fills in `trace.backward` from the forward pass alone: nodes in the reverse
/// order of their ops (what the engine does), a gradient as large as each value
/// that requires one, alive from the backward of its last reader to that of its
/// maker, the forward's workspace for the backward op's. Gradients of externals stay.
void estimate_backward(Trace& trace, const std::vector<uint8_t>& saved_alive, int64_t base_bytes);

}  // namespace reforward
