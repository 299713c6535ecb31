#include "trace/meter.h"

#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

namespace reforward {

MemoryMeter& MemoryMeter::current() {
  // The slot is the profiler's: it is the only one that allocators report to.
  // If a profiler of PyTorch takes it for a while, allocations made meanwhile
  // are its own business and are not counted here.
  thread_local std::shared_ptr<MemoryMeter> meter;
  if (!meter) {
    meter = std::make_shared<MemoryMeter>();
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, meter);
  }
  return *meter;
}

void MemoryMeter::watch(c10::DeviceType device) {
  if (device == device_) return;
  device_ = device;
  live_ = 0;
  reset_peak();
}

void MemoryMeter::reportMemoryUsage(void* data, int64_t bytes, size_t, size_t, c10::Device device) {
  if (device.type() != device_) return;
  live_ += bytes;
  if (bytes > 0) {
    peak_ = std::max(peak_, live_);
    mark_peak_ = std::max(mark_peak_, live_);
    if (ledger_open_) ledger_alloc(data, bytes);
  } else if (ledger_open_) {
    ledger_free(data, -bytes);
  }
}

void MemoryMeter::open_ledger(DeathCallback on_death) {
  owners_.clear();
  base_ = base_peak_ = 0;
  on_death_ = std::move(on_death);
  ledger_open_ = true;
}

void MemoryMeter::close_ledger() {
  ledger_open_ = false;
  owners_.clear();
  on_death_ = nullptr;
}

int64_t MemoryMeter::enter(const void* data, ValueId value, int64_t bytes) {
  if (data == nullptr) return 0;
  owners_[data] = {bytes, value.index};
  return bytes;
}

int64_t MemoryMeter::take_base_peak() {
  const int64_t peak = base_peak_;
  base_peak_ = base_;
  return peak;
}

int64_t MemoryMeter::give_to(const void* data, ValueId value, int64_t fallback) {
  if (!ledger_open_ || data == nullptr) return fallback;
  const auto found = owners_.find(data);
  if (found == owners_.end()) return fallback;
  if (found->second.kind == base_owner) base_ -= found->second.bytes;
  if (found->second.kind != own_owner) found->second.kind = value.index;
  return found->second.bytes;
}

void MemoryMeter::ledger_alloc(void* data, int64_t bytes) {
  const bool own = own_work_ > 0;
  owners_[data] = {bytes, own ? own_owner : base_owner};
  if (!own) {
    base_ += bytes;
    base_peak_ = std::max(base_peak_, base_);
  }
}

void MemoryMeter::ledger_free(void* data, int64_t bytes) {
  const auto found = owners_.find(data);
  if (found == owners_.end()) {  // there before the step began
    base_ -= bytes;
    return;
  }
  const Owner owner = found->second;
  owners_.erase(found);
  if (owner.kind == base_owner) {
    base_ -= bytes;
  } else if (owner.kind >= 0) {
    on_death_(ValueId(static_cast<std::size_t>(owner.kind)));
  }
}

}  // namespace reforward
