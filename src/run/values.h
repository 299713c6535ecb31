#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reforward/ids.h"

namespace reforward {

/// The memory that a step holds, by value, and what is known of it.
class HeldValues {
 public:
  static constexpr int32_t until_dropped = -1;

  void grow(std::size_t values);
  std::size_t size() const { return entries_.size(); }

  bool holds(ValueId value) const { return value.at() < entries_.size() && entries_[value.at()].storage; }
  const c10::Storage& storage(ValueId value) const { return entries_[value.at()].storage; }
  void hold(ValueId value, c10::Storage storage, int32_t releases = until_dropped);
  /// Notes the version of the tensor whose memory is held: see `stale`.
  void watch(ValueId value, const at::Tensor& tensor);
  /// The user has written to it since.
  bool stale(ValueId value) const;
  void hold_external(ValueId value, const at::Tensor& tensor);
  void drop(ValueId value) {
    entries_[value.at()].storage = {};
    entries_[value.at()].counter.reset();
  }
  c10::Storage take(ValueId value) { return std::move(entries_[value.at()].storage); }

  /// After how many releases of saved entries the value is dropped.
  void set_releases(ValueId value, int32_t releases) { entries_[value.at()].releases = releases; }
  /// One saved entry of the value was released.
  void count_release(ValueId value);

  void add_handle(ValueId value) { ++entries_[value.at()].handles; }
  void remove_handle(ValueId value) { --entries_[value.at()].handles; }
  int32_t handles(ValueId value) const { return entries_[value.at()].handles; }

  /// The plan's wish, asked when the value is made.
  void want(ValueId value) { entries_[value.at()].wanted = true; }
  bool wanted(ValueId value) const { return entries_[value.at()].wanted; }

  bool external(ValueId value) const { return entries_[value.at()].external; }
  /// A copy of an external's or pinned value's contents takes its place.
  void replace_by_copy(ValueId value, c10::Storage copy);
  /// Throws TraceError if an external was overwritten since it was first read.
  void check_unchanged(ValueId value, const std::string& name) const;

  /// Held tracked values, ascending.
  std::vector<ValueId> tracked() const;

 private:
  struct Entry {
    c10::Storage storage;
    int32_t releases = until_dropped;
    int32_t handles = 0;
    bool wanted = false;
    bool external = false;
    uint32_t version = 0;
    std::optional<c10::VariableVersion> counter;  // of an external
  };
  std::vector<Entry> entries_;
};

}  // namespace reforward
