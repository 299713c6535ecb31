#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reforward/ids.h"

namespace reforward {

/// What one training step did, measured. Plain data: no PyTorch type, no
/// pointer; `write_trace`/`read_trace` (json.h) give it a versioned JSON form
/// (docs/trace-format.md).
///
/// Note [Positions]
/// The step is one row of events: first every op in recorded order (position k
/// for OpId k), then every BackwardEvent (position ops.size() + j). `Value::dies`
/// and Timeline points are positions in that row.
///
/// Note [Base bytes]
/// Every byte of the step is counted once, either as the bytes of a *tracked*
/// value (a value with a maker) or as *base*: everything else that the
/// allocator holds (gradients, workspaces, tensors made outside recorded ops),
/// relative to what it held when the step began (`static_bytes`). Tracked bytes
/// depend on the plan, base bytes do not: live = static + base + tracked.
/// Bytes allocated by a re-forward are tracked.

/// The contents of one storage between two writes: (storage, version).
struct Value {
  int64_t bytes = 0;         ///< of the storage; the versions of one storage share it
  OpId maker{};              ///< the op that made it; none: external (parameter,
                             ///< buffer, input): always there, costs nothing here
  ValueId overwrites{};      ///< the version that `maker` wrote over in place (its
                             ///< buffer becomes this value's); none: fresh memory
  bool overwritten = false;  ///< a later op wrote over it: it cannot be kept
  bool requires_grad = false;
  /// The first position at which the user's own code no longer holds it,
  /// autograd aside: held only by us or by nobody from there on. `never` if it
  /// outlives the step. For an overwritten value: the overwriting op's position.
  int32_t dies = never;
  std::string name{};  ///< parameter or buffer name where known (external only)

  static constexpr int32_t never = std::numeric_limits<int32_t>::max();
  bool external() const { return !maker.valid(); }
};

/// One ATen operator call at the level just below autograd. Calls that only
/// make views are not ops: a view is a way to read a value.
struct Op {
  std::string name{};              ///< `aten::convolution`
  std::string module{};            ///< module that was running, for reports; may be empty
  std::vector<ValueId> inputs{};   ///< values read, each once, in argument order
  std::vector<ValueId> outputs{};  ///< values made, fresh or written in place
  double seconds = 0;              ///< of the forward call
  int64_t base_bytes = 0;          ///< base when the op began (Note [Base bytes])
  int64_t peak_bytes = 0;          ///< most bytes allocated at once by the op itself,
                                   ///< its fresh outputs and workspace: over live at start
  int64_t gap_bytes = 0;           ///< largest base from this op's end to the next event
  bool random = false;             ///< draws from a generator; replayed with its state
  bool pinned = false;             ///< its outputs are always kept: it cannot be replayed
  std::string pinned_reason{};
};

/// A value that autograd saved for one backward node. (Saved externals are not
/// listed: nothing can be decided about them.)
struct Saved {
  ValueId value;
  OpId op;  ///< the op that was running, or the last one before, when it was saved
};

/// What backward did with the saved values, in order. The base bytes of an
/// event are those at its start, `gap_bytes` the largest base from there to the
/// next event.
struct BackwardEvent {
  enum class Kind : uint8_t {
    begin,    ///< the engine starts; always the first event, and only that
    unpack,   ///< a backward node takes the saved value
    release,  ///< autograd drops its claim on the saved value
    end,      ///< the step is over; always the last event
  };
  Kind kind = Kind::begin;
  SavedId saved{};  ///< of unpack and release
  int64_t base_bytes = 0;
  int64_t gap_bytes = 0;
};

struct Trace {
  static constexpr int format_version = 1;

  std::string model;  ///< label for people; may be empty
  int64_t batch = 0;  ///< label; 0 if unknown
  int64_t image = 0;  ///< label; 0 if unknown
  std::string device = "cpu";

  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<Saved> saved;
  std::vector<BackwardEvent> backward;

  int64_t static_bytes = 0;    ///< held when the step began
  int64_t gradient_bytes = 0;  ///< parameter gradients that the step leaves
  double forward_seconds = 0;
  double backward_seconds = 0;  ///< re-forwards not included
  /// False while backward is only an estimate (made from the forward pass).
  bool backward_measured = false;
};

/// Throws FormatError (one sentence) unless indices are in range, makers and
/// overwrites agree, and events are in a possible order. Every reader of files
/// calls it; everything in plan/ relies on it.
void validate(const Trace& trace);

/// Identifies the structure (not the times) of a trace, so that a plan can say
/// which trace it was made for. Stable across runs and machines.
uint64_t fingerprint(const Trace& trace);

}  // namespace reforward
