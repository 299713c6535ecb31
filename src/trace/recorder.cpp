#include "trace/recorder.h"

#include <algorithm>

#include "reforward/error.h"
#include "trace/meter.h"

namespace reforward {

Recorder::Recorder(RecorderClient& client, c10::DeviceType device, std::shared_ptr<const Tape> follow)
    : client_(client), device_(device), follow_(std::move(follow)) {
  if (follow_ == nullptr) {
    own_ = std::make_shared<Tape>();
  } else {
    current_.reserve(follow_->values.size());
    addresses_.reserve(follow_->values.size());
    was_read_.reserve(follow_->values.size());
  }
}

std::shared_ptr<const Tape> Recorder::share_tape() const {
  return follow_ ? follow_ : std::static_pointer_cast<const Tape>(own_);
}

// ---- beginning of an op

void Recorder::begin(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  in_op_ = true;
  changed_constants_.clear();
  operand_aliases_.clear();
  state_before_.reset();
  following_op_ = follow_ != nullptr && follows(info, inputs);
  const ReplayCheck::Verdict* verdict = nullptr;
  bool random = false;
  if (following_op_) {
    random = current_op().random;
  } else {
    write_down(info, inputs);
    MemoryMeter::OwnWork own(MemoryMeter::current());
    verdict = check_.begin(pending_, operand_aliases_);
    random = check_.pending() || (verdict != nullptr && verdict->random);
    pending_.random = random;
    if (verdict != nullptr && !verdict->replayable) {
      pending_.pinned = true;
      pending_.pinned_reason = verdict->reason;
    }
  }
  announce_overwrites(current_op());
  if (random) {
    MemoryMeter::OwnWork own(MemoryMeter::current());
    state_before_ = save_generator(generator_of(current_op(), device_));
  }
}

void Recorder::alias_written(const TapeOp& op, c10::ArrayRef<const c10::IValue> inputs) {
  operand_aliases_.resize(op.operands.size());
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    if (op.info->writes[a] == 0 || op.arguments[a].operands.empty()) continue;
    std::size_t i = 0;
    for_each_tensor(inputs[a], [&](const at::Tensor& tensor) {
      const int32_t operand = op.arguments[a].operands[i++];
      if (operand < 0) return;
      const auto at = static_cast<std::size_t>(operand);
      operand_aliases_[at] = op.operands[at].geometry.view(tensor.storage());
    });
  }
}

int32_t Recorder::add_operand(const at::Tensor& tensor) {
  const auto found = current_.find(tensor.storage().unsafeGetStorageImpl());
  const ValueId value = found != current_.end() ? found->second : bind_external(tensor);
  pending_.operands.push_back({value, Geometry::of(tensor)});
  operand_aliases_.push_back(pending_.operands.back().geometry.view(tensor.storage()));
  return static_cast<int32_t>(pending_.operands.size()) - 1;
}

void Recorder::write_down(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  pending_ = {};
  operand_aliases_.clear();
  changed_constants_.clear();
  pending_.info = &info;
  pending_.arguments.resize(inputs.size());
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    Argument& argument = pending_.arguments[a];
    const auto& input = inputs[a];
    if (is_hidden_write(info, a, inputs)) continue;  // replayed without: None
    bool all_trackable = true;
    for_each_tensor(input, [&](const at::Tensor& tensor) {
      all_trackable &= !tensor.defined() || trackable(tensor);
    });
    if (input.isTensor() && input.toTensor().defined() && all_trackable) {
      argument.kind = Argument::Kind::tensor;
    } else if (input.isTensorList() && all_trackable) {
      argument.kind = Argument::Kind::tensor_list;
    } else if (input.isOptionalTensorList() && all_trackable) {
      argument.kind = Argument::Kind::optional_tensor_list;
    } else if (has_opaque_tensor(input)) {
      // Not to be held by a tape that outlives the step, so not replayable.
      pending_.pinned = true;
      pending_.pinned_reason = "it takes a tensor that is not plain strided memory";
      continue;
    } else {
      argument.constant = input;
      continue;
    }
    for_each_tensor(input, [&](const at::Tensor& tensor) {
      argument.operands.push_back(tensor.defined() ? add_operand(tensor) : -1);
    });
  }
}

bool Recorder::is_external_or_pinned(ValueId value) const {
  const auto maker = tape().values[value.at()].maker;
  return !maker.valid() || tape().ops[maker.at()].pinned;
}

void Recorder::announce_overwrites(const TapeOp& op) {
  for_each_written(op, [&](std::size_t operand) {
    const ValueId value = op.operands[operand].value;
    if (is_external_or_pinned(value) && was_read_[value.at()] != 0) {
      client_.before_overwrite(value, operand_aliases_[operand]);
    }
  });
  for (const auto& operand : op.operands) was_read_[operand.value.at()] = 1;
}

// ---- end of an op

std::optional<OpId> Recorder::end(const std::vector<c10::IValue>& outputs) {
  if (!in_op_) return std::nullopt;
  std::vector<at::Tensor> results;
  for (const auto& output : outputs) {
    for_each_tensor(output, [&](const at::Tensor& tensor) { results.push_back(tensor); });
  }
  if (following_op_ && !outputs_follow(results)) diverge();
  if (!following_op_) {
    finish_written(results);
    if (pending_.outputs.empty()) {  // only a view after all
      in_op_ = false;
      check_.pass();
      return std::nullopt;
    }
    diverge();
    own_->ops.push_back(std::move(pending_));
    pending_ = {};
  }
  const OpId op(op_count_++);
  if (tape().ops[op.at()].random && state_before_) random_states_.emplace_back(op, std::move(*state_before_));
  if (!changed_constants_.empty()) constants_.emplace_back(op, std::move(changed_constants_));
  changed_constants_.clear();
  operand_aliases_.clear();
  in_op_ = false;
  return op;
}

void Recorder::finish_written(const std::vector<at::Tensor>& results) {
  std::vector<std::pair<ValueId, at::Tensor>> made;
  const OpId maker(op_count_);
  const auto make = [&](TapeValue value, const at::Tensor& tensor, int32_t result, int32_t operand) {
    diverge();  // values are added to our own tape
    value.maker = pending_.writes_external ? OpId() : maker;
    value.bytes = static_cast<int64_t>(tensor.storage().nbytes());
    const ValueId id = new_value(value);
    bind(id, tensor);
    pending_.outputs.push_back({id, result, operand});
    made.emplace_back(id, tensor);
  };

  bool grad = false;
  for (const auto& result : results) grad |= result.defined() && result.requires_grad();

  for_each_written(pending_, [&](std::size_t operand) {
    const at::Tensor& tensor = operand_aliases_[operand];
    const auto* address = tensor.storage().unsafeGetStorageImpl();
    const auto found = current_.find(address);
    if (found == current_.end()) return;
    const ValueId before = found->second;
    if (before != pending_.operands[operand].value) return;  // passed twice
    if (static_cast<int64_t>(tensor.storage().nbytes()) != tape().values[before.at()].bytes) {
      current_.erase(found);  // it got other memory: unknown from here on
      return;
    }
    TapeValue value;
    value.requires_grad = grad;
    const OpId made_by = tape().values[before.at()].maker;
    if (!made_by.valid()) {
      // What an external holds now is an external of its own; the old contents,
      // if anybody has read them, were copied.
      pending_.writes_external = true;
    } else if (tape().ops[made_by.at()].pinned) {
      pending_.pinned = true;
      pending_.pinned_reason =
          "it writes over the output of " + tape().ops[made_by.at()].info->name + ", which cannot be replayed";
    } else {
      diverge();
      value.overwrites = before;
      own_->values[before.at()].overwritten = true;
    }
    make(value, tensor, -1, static_cast<int32_t>(operand));
  });
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (!results[r].defined() || !trackable(results[r])) continue;
    if (current_.count(results[r].storage().unsafeGetStorageImpl()) != 0) continue;  // a view or an argument
    TapeValue value;
    value.requires_grad = grad;
    if (pending_.writes_external) pending_.pinned = true;
    make(value, results[r], static_cast<int32_t>(r), -1);
  }

  if (check_.pending() && !pending_.outputs.empty()) {
    if (pending_.writes_external) {
      check_.abandon();
      pending_.random = pending_.info->random;
    } else {
      MemoryMeter::OwnWork own(MemoryMeter::current());
      const auto verdict = check_.end(pending_, results, operand_aliases_, *state_before_, device_);
      pending_.random = verdict.random;
      if (!verdict.replayable) {
        pending_.pinned = true;
        pending_.pinned_reason = verdict.reason;
      }
    }
  }
  if (!pending_.random) state_before_.reset();
  for (const auto& [id, tensor] : made) announce(id, tensor, pending_.pinned);
}

void Recorder::announce(ValueId value, const at::Tensor& tensor, bool pinned) {
  if (tape().values[value.at()].maker.valid()) {
    client_.value_made(value, tensor, pinned);
  } else {
    client_.external_bound(value, tensor);
  }
}

void Recorder::fail() {
  if (!in_op_) return;
  // Whatever it was writing to has contents that nobody knows.
  for_each_written(current_op(), [&](std::size_t operand) {
    current_.erase(operand_aliases_[operand].storage().unsafeGetStorageImpl());
  });
  diverge();
  operand_aliases_.clear();
  check_.abandon();
  in_op_ = false;
}

// ---- identity

ValueId Recorder::bind_external(const at::Tensor& tensor) {
  if (follow_ && follow_->values.size() > value_count_ && !follow_->values[value_count_].maker.valid() &&
      follow_->values[value_count_].bytes == static_cast<int64_t>(tensor.storage().nbytes())) {
    const ValueId id(value_count_);
    bind(id, tensor);
    client_.external_bound(id, tensor);
    return id;
  }
  diverge();
  TapeValue value;
  value.bytes = static_cast<int64_t>(tensor.storage().nbytes());
  value.requires_grad = tensor.requires_grad();
  const ValueId id = new_value(value);
  bind(id, tensor);
  client_.external_bound(id, tensor);
  return id;
}

ValueId Recorder::new_value(const TapeValue& value) {
  const ValueId id(own_->values.size());
  invariant(id.at() == value_count_, "values are not numbered in order");
  own_->values.push_back(value);
  return id;
}

void Recorder::bind(ValueId value, const at::Tensor& tensor) {
  const auto& storage = tensor.storage();
  const auto [entry, fresh] = current_.emplace(storage.unsafeGetStorageImpl(), value);
  if (fresh) {
    addresses_.push_back(storage.getWeakStorageImpl());
  } else {
    entry->second = value;
  }
  was_read_.push_back(0);
  ++value_count_;
}

void Recorder::for_each_alive(const std::function<void(ValueId, const c10::Storage&)>& visit) const {
  for (const auto& address : addresses_) {
    const auto alive = address.lock();
    if (!alive) continue;
    const auto found = current_.find(alive.get());
    if (found == current_.end() || !tape().values[found->second.at()].maker.valid()) continue;
    visit(found->second, c10::Storage(alive));
  }
}

ValueId Recorder::value_of(const at::Tensor& tensor) const {
  if (!tensor.defined() || !trackable(tensor)) return {};
  const auto found = current_.find(tensor.storage().unsafeGetStorageImpl());
  return found == current_.end() ? ValueId() : found->second;
}

bool Recorder::being_written(const at::Tensor& tensor) const {
  if (!in_op_ || current_op().info == nullptr || !current_op().info->any_writes) return false;
  bool written = false;
  for_each_written(current_op(), [&](std::size_t operand) {
    const auto& alias = operand_aliases_[operand];
    written |= alias.defined() && alias.storage().is_alias_of(tensor.storage());
  });
  return written;
}

// ---- what a replay needs

std::vector<c10::IValue> Recorder::constants(OpId op) const {
  const auto found = std::find_if(constants_.begin(), constants_.end(), [op](const auto& e) { return e.first == op; });
  return found != constants_.end() ? found->second : constants_of(tape().ops[op.at()]);
}

const GeneratorState* Recorder::random_state(OpId op) const {
  const auto found =
      std::find_if(random_states_.begin(), random_states_.end(), [op](const auto& e) { return e.first == op; });
  return found != random_states_.end() ? &found->second : nullptr;
}

}  // namespace reforward
