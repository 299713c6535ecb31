#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "plan/index.h"
#include "reforward/plan.h"

namespace reforward {

/// The single definition of what a plan means: who is freed when, and which
/// in-place op works on a copy. Flat and reused from plan to plan, because
/// solvers judge thousands of them; compile_schedule gives it its public form.
///
/// Note [Holds]
/// A hold is one instance of a value that outlives the run that made it: kept
/// from the forward pass, or kept by one re-forward. At most one hold of a value
/// is current, the latest. A hold ends with its last use: the release of a saved
/// entry while it is current, or a read by a later re-forward. A value that was
/// unpacked and whose entry is never released is held to the end of the step.
/// A re-forward must not make a value anew while a backward node has the old
/// hold in its hands (between unpack and release): both would be in memory, and
/// nobody could say when the old one goes.
/// A re-forward may run an op that makes a value with a hold beside others (the
/// statistics beside a normalization's output). If the hold outlives the
/// re-forward, the value just made is dropped at once, and the hold is read;
/// a use of the hold beyond the re-forward decides that, so such a read never
/// prolongs it. If not, the hold is over already, and the value is the
/// re-forward's own.
class Lowering {
 public:
  static constexpr int32_t none = -1;
  static constexpr int32_t never = std::numeric_limits<int32_t>::max();

  struct Hold {
    ValueId value;
    int32_t run = none;         ///< the re-forward that made it; none: forward
    int32_t releases = 0;       ///< of saved entries while it is current; `never`: it outlives the step
    int32_t last_event = none;  ///< the backward event in which, or in whose re-forward, its last use is
    int32_t last_step = none;   ///< the step that is its last use; none: a release is
    bool used() const { return last_event != none; }
  };
  struct Free {
    ValueId value;
    int32_t hold = none;      ///< none: made by this run and not kept
    bool taken_over = false;  ///< its buffer goes on as an output of the step
    bool duplicate = false;   ///< of a hold: not the hold goes, but what the step made
  };

  explicit Lowering(const TraceIndex& index);

  /// Throws FormatError if the plan cannot run.
  void lower(const Plan& plan);

  std::vector<Hold> holds;            ///< of forward first, then run by run
  std::size_t forward_holds = 0;      ///< one per Plan::keep
  std::vector<uint32_t> hold_starts;  ///< by run: its holds; one more at the end
  std::vector<uint32_t> step_starts;  ///< by run: its steps; one more at the end
  std::vector<int32_t> run_event;     ///< by run: the event that triggers it; none: no event does
  std::vector<OpId> steps;
  Lists<ValueId> copies;            ///< by step
  Lists<Free> frees;                ///< by step
  std::vector<int32_t> event_free;  ///< by backward event: the hold that ends with it, or none

 private:
  void take_keep(const Plan& plan);
  void play_backward(const Plan& plan);
  void play_run(const Reforward& run, int32_t event);
  void keep_from_run(const Reforward& run, int32_t id);
  void check_unreached(const Reforward& run) const;
  void find_ends();
  void find_run_ends(std::size_t run);
  void lower_step(std::size_t run, std::size_t step);
  bool held_beyond(std::size_t run, ValueId value) const;

  const TraceIndex& index_;
  std::vector<int32_t> current_;     // by value: its hold
  std::vector<int32_t> made_in_;     // by value: the last run that made it
  std::vector<int32_t> last_local_;  // by value: last step that uses it in that run
  std::vector<int32_t> open_;        // by hold: entries unpacked and not yet released
  std::vector<uint8_t> entry_open_;  // by saved entry
};

}  // namespace reforward
