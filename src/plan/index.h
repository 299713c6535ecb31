#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reforward/trace.h"

namespace reforward {

/// Lists of equal kind in one row of memory: list i is from starts[i] to starts[i + 1].
template <class T>
struct Lists {
  std::vector<uint32_t> starts{0};
  std::vector<T> items;

  std::span<const T> operator[](std::size_t i) const {
    return {items.data() + starts[i], items.data() + starts[i + 1]};
  }
  void close() { starts.push_back(static_cast<uint32_t>(items.size())); }
  std::size_t size() const { return starts.size() - 1; }
  void clear() {
    starts.assign(1, 0);
    items.clear();
  }
};

/// What solvers and `simulate` look up again and again in a valid trace,
/// computed once. Refers to the trace, which must outlive it.
///
/// Note [What can be brought back]
/// A value can be *kept* from the forward pass unless it is overwritten later.
/// An op can be *run again* unless it is pinned, writes into the buffer of an
/// external, or reads a value that can be neither kept nor made again. Outputs
/// of ops that cannot run again are kept always.
struct TraceIndex {
  static constexpr int32_t none = -1;

  explicit TraceIndex(const Trace& trace);

  const Trace& trace;
  Lists<ValueId> needs;  ///< by op: values with a maker that must be there to run it, overwritten ones included
  std::vector<ValueId> overwriter;       ///< by value
  std::vector<uint8_t> writes_external;  ///< by op
  std::vector<uint8_t> can_run_again;    ///< by op
  std::vector<uint8_t> can_keep;         ///< by value
  std::vector<uint8_t> in_external;      ///< by value: made in the buffer of an external, costs nothing
  std::vector<uint8_t> must_keep;        ///< by value: kept by every solver (see Note; or alive in backward anyway)
  std::vector<int64_t> fresh_bytes;      ///< by op: of outputs in fresh memory
  std::vector<int32_t> first_unpack;     ///< by value: index into Trace::backward, or none
  std::vector<int32_t> last_event;       ///< by value: likewise

  // The step when nothing is held for backward at all: by position, static and base bytes included.
  std::vector<int64_t> bare_live;  ///< at its start
  std::vector<int64_t> bare_peak;  ///< until the next position; of backward events: after it
};

}  // namespace reforward
