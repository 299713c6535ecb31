#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plan/cuts.h"
#include "plan/index.h"

namespace reforward {

/// What it costs to bring back the values between two cuts, for every pair of
/// cuts: what the dynamic programme (nest.h) chooses from. Close to what
/// simulate says of the same choice, not equal: simulate judges every plan.
///
/// Note [Cost of a stretch]
/// Cuts are numbered 0 (before the first op) to count() - 1 (after the last).
/// Stretch (a, b) is the ops between cuts a and b. Because a value is in the
/// frontier of b only if it is made before b and read after it, the bytes that
/// a cut at b adds to a cut at a < b depend on (a, b) alone (`frontier_bytes`).
/// That makes the best cuts of any graph a shortest path.
/// Backward meets the stretches from last to first. Peaks are of the whole
/// device, under the assumption that no frontier before a is held: what is held
/// for earlier stretches comes on top.
class Segments {
 public:
  /// Way 0 keeps nothing in a stretch besides the frontier, the last way all that
  /// is unpacked, those between what takes longest to make for its bytes:
  /// convolutions rather than normalizations.
  static constexpr std::size_t ways = 5;
  struct Way {
    int64_t keep_bytes = 0;  ///< kept from forward besides the frontier of b
    int64_t peak = 0;        ///< of making the rest again at once, and of backward through it
    float seconds = 0;
  };
  struct Stretch {
    int64_t frontier_bytes = 0;  ///< made here and in the frontier of b
    int64_t outer_peak = 0;      ///< making the frontier of b from that of a, over what is there
    float outer_seconds = 0;
    std::array<Way, ways> way;
  };

  Segments(const TraceIndex& index, const std::vector<Cut>& cuts);

  std::size_t count() const { return ops_.size(); }
  std::size_t op_at(std::size_t cut) const { return ops_[cut]; }
  const Stretch& operator()(std::size_t a, std::size_t b) const { return stretches_[b * (b - 1) / 2 + a]; }
  /// Live bytes of the bare step when backward arrives at cut `b` from above.
  int64_t arrival_bytes(std::size_t b) const { return arrival_[b]; }
  /// Whether a way keeps a value that is in no frontier.
  bool keeps(std::size_t way, ValueId value) const { return value_way_[value.at()] <= way; }

 private:
  struct Slice;
  static constexpr std::size_t outer = ways;  // where a way is asked for
  Stretch& at(std::size_t a, std::size_t b) { return stretches_[b * (b - 1) / 2 + a]; }
  void find_windows();
  void add_frontiers();
  void add_backward(std::size_t a);
  void rank_values();
  void add_runs(std::size_t b, std::size_t way);
  Slice slice_before(std::size_t b, std::size_t way) const;
  int64_t play(const Slice& slice, std::size_t a, std::size_t b, float& seconds) const;

  const TraceIndex& index_;
  std::vector<std::size_t> ops_;     // by cut
  std::vector<int32_t> last_read_;   // by value
  std::vector<std::size_t> window_;  // by cut: the first event of backward below it
  std::vector<int64_t> arrival_;     // by cut
  std::vector<uint8_t> value_way_;   // by value: the first way that keeps it
  std::vector<Stretch> stretches_;
};

}  // namespace reforward
