#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/util/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "reforward/ids.h"

namespace reforward {

/// Counts the bytes that the allocator holds for tensors, from the moment it is
/// installed on the thread. Every allocation and free of the thread is seen, so
/// the numbers are exact. What was allocated before is told by `adopt`.
///
/// With a ledger (while a step is measured) each allocation also has an owner,
/// so that base and tracked bytes can be told apart; see Note [Base bytes].
class MemoryMeter final : public c10::MemoryReportingInfoBase {
 public:
  /// The meter of this thread, installed on the first call.
  static MemoryMeter& current();

  /// Counts the memory of this kind of device, and no other; CPU at first. A
  /// change begins at zero.
  void watch(c10::DeviceType device);

  int64_t live() const { return live_; }
  int64_t peak() const { return peak_; }
  void reset_peak() { peak_ = mark_peak_ = live_; }
  void adopt(int64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }

  /// A second peak that ops use: the most since the last `mark`.
  void mark() { mark_peak_ = live_; }
  int64_t peak_since_mark() const { return mark_peak_; }

  // The ledger.
  using DeathCallback = std::function<void(ValueId)>;
  void open_ledger(DeathCallback on_death);
  void close_ledger();
  /// Memory that was there when the ledger was opened belongs to `value`.
  int64_t enter(const void* data, ValueId value, int64_t bytes);
  void set_base(int64_t bytes) { base_ = base_peak_ = bytes; }
  bool ledger_open() const { return ledger_open_; }
  int64_t base() const { return base_; }
  /// The largest base since the last call, which starts a new interval.
  int64_t take_base_peak();
  /// The memory at `data` now belongs to `value` (base to tracked). Returns its
  /// bytes as the allocator counts them, or `fallback` if it is not in the ledger.
  int64_t give_to(const void* data, ValueId value, int64_t fallback);

  /// While one exists, allocations are tracked bytes: ours, not the step's.
  class OwnWork {
   public:
    explicit OwnWork(MemoryMeter& meter) : meter_(meter) { ++meter_.own_work_; }
    ~OwnWork() { --meter_.own_work_; }
    OwnWork(const OwnWork&) = delete;
    OwnWork& operator=(const OwnWork&) = delete;

   private:
    MemoryMeter& meter_;
  };

  // c10::MemoryReportingInfoBase
  void reportMemoryUsage(void* data, int64_t bytes, size_t total_allocated, size_t total_reserved,
                         c10::Device device) override;
  bool memoryProfilingEnabled() const override { return true; }

 private:
  struct Owner {
    int64_t bytes;
    int32_t kind;  ///< base_owner, own_owner, or the index of a value
  };
  static constexpr int32_t base_owner = -1;
  static constexpr int32_t own_owner = -2;

  void ledger_alloc(void* data, int64_t bytes);
  void ledger_free(void* data, int64_t bytes);

  c10::DeviceType device_ = c10::kCPU;
  int64_t live_ = 0;
  int64_t peak_ = 0;
  int64_t mark_peak_ = 0;
  int own_work_ = 0;

  bool ledger_open_ = false;
  int64_t base_ = 0;
  int64_t base_peak_ = 0;
  ska::flat_hash_map<const void*, Owner> owners_;
  DeathCallback on_death_;
};

}  // namespace reforward
