#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/flat_hash_map.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/replay.h"
#include "trace/replay_check.h"
#include "trace/tape.h"

namespace reforward {

/// Told by the recorder what became of each op.
class RecorderClient {
 public:
  virtual ~RecorderClient() = default;
  /// A tensor from outside is read for the first time.
  virtual void external_bound(ValueId value, const at::Tensor& tensor) = 0;
  /// `value` is about to be overwritten. One that has been `read` and cannot be
  /// made again, external or pinned, is to be copied now if a re-forward shall
  /// find it; a hold on any other is on wrong contents from here on.
  virtual void before_overwrite(ValueId value, const at::Tensor& tensor, bool to_copy) = 0;
  /// `value` was made by the op that is ending; `tensor` reads it. A pinned one
  /// cannot be made again: it is to be held.
  virtual void value_made(ValueId value, const at::Tensor& tensor, bool pinned) = 0;
};

/// Writes the ops of one step on a tape, or follows a tape written before.
///
/// Note [Identity of values]
/// A value is (storage, version). Storages are told apart by the address of
/// their StorageImpl; a weak reference to each that was seen keeps the address
/// from being used again without keeping its memory. A call that writes to an
/// argument (by its schema) makes the next version. Values are numbered in the
/// order in which they appear, so a step that repeats a tape gives every value
/// the same number, and following a tape means comparing numbers.
///
/// Note [Following a tape]
/// The next op follows if it is the same operator on the same values, seen
/// through the same geometry, and makes as many bytes. Its other arguments may
/// differ (a scale that changes from step to step): they are noted for replays.
/// At the first op that does not follow, the part that did becomes the
/// beginning of a new tape.
class Recorder {
 public:
  Recorder(RecorderClient& client, c10::DeviceType device, std::shared_ptr<const Tape> follow);

  void begin(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs);
  /// The op on the tape that ended, none if it turned out to be only a view.
  std::optional<OpId> end(const std::vector<c10::IValue>& outputs);
  void fail();

  /// The current value of the storage of a tensor; none if it is not known.
  ValueId value_of(const at::Tensor& tensor) const;
  /// Storages that the op in progress writes to.
  bool being_written(const at::Tensor& tensor) const;

  /// Each tracked value whose memory is still there.
  void for_each_alive(const std::function<void(ValueId, const c10::Storage&)>& visit) const;

  /// Leaves the followed tape, if any: what was recorded so far becomes ours.
  void diverge();
  bool following() const { return follow_ != nullptr; }
  const Tape& tape() const { return follow_ ? *follow_ : *own_; }
  std::shared_ptr<const Tape> share_tape() const;
  std::size_t op_count() const { return op_count_; }
  std::size_t value_count() const { return value_count_; }
  /// The values that it has in common with the tape that it followed.
  std::size_t followed_values() const { return follow_ ? value_count_ : followed_values_; }

  /// What a replay of an op of this step needs beside the tape.
  std::vector<c10::IValue> constants(OpId op) const;
  const GeneratorState* random_state(OpId op) const;

 private:
  bool follows(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs);
  bool follows_tensor(const TapeOp& expected, int32_t operand, const at::Tensor& tensor);
  bool outputs_follow(const std::vector<at::Tensor>& results);
  void write_down(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs);
  void finish_written(const std::vector<at::Tensor>& results);
  void alias_written(const TapeOp& op, c10::ArrayRef<const c10::IValue> inputs);
  int32_t add_operand(const at::Tensor& tensor);
  ValueId bind_external(const at::Tensor& tensor);
  ValueId new_value(const TapeValue& value);
  void bind(ValueId value, const at::Tensor& tensor);
  void announce(ValueId value, const at::Tensor& tensor, bool pinned);
  void announce_overwrites(const TapeOp& op);
  void forget_hidden_writes(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs);
  ValueId current_value(const at::Tensor& tensor);
  void pin_unseen_contents(const TapeOp& op);
  bool is_external_or_pinned(ValueId value) const;
  const TapeOp& current_op() const { return following_op_ ? follow_->ops[op_count_] : pending_; }

  RecorderClient& client_;
  c10::DeviceType device_;
  std::shared_ptr<const Tape> follow_;
  std::shared_ptr<Tape> own_;
  std::size_t op_count_ = 0;
  std::size_t value_count_ = 0;
  std::size_t followed_values_ = 0;

  ska::flat_hash_map<const c10::StorageImpl*, ValueId> current_;
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> addresses_;
  std::vector<uint8_t> was_read_;  // by value

  // The op in progress.
  bool in_op_ = false;
  bool following_op_ = false;
  TapeOp pending_;
  std::vector<at::Tensor> operand_aliases_;  // written operands only, by operand
  std::vector<c10::IValue> changed_constants_;
  std::optional<GeneratorState> state_before_;
  ReplayCheck check_;

  std::vector<std::pair<OpId, std::vector<c10::IValue>>> constants_;  // that differ from the tape
  std::vector<std::pair<OpId, GeneratorState>> random_states_;
};

}  // namespace reforward
