#include "trace/recorder.h"

#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "reforward/error.h"
#include "trace/meter.h"

namespace reforward {

namespace {

// A written operand as it is seen after the op, with the version counter of the
// tensor that it stands for: later writes show there.
at::Tensor alias_of(const Geometry& geometry, const at::Tensor& tensor) {
  auto alias = geometry.view(tensor.storage());
  if (!tensor.is_inference()) {
    torch::autograd::impl::set_version_counter(alias, torch::autograd::impl::version_counter(tensor));
  }
  return alias;
}

}  // namespace

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
    pin_unseen_contents(pending_);
    verdict = check_.begin(pending_, operand_aliases_);
    random = check_.pending() || (verdict != nullptr && verdict->random);
    pending_.random = random;
    if (verdict != nullptr && !verdict->replayable) {
      pending_.pinned = true;
      pending_.pinned_reason = verdict->reason;
    }
  }
  announce_overwrites(current_op());
  forget_hidden_writes(info, inputs);
  if (random) {
    MemoryMeter::OwnWork own(MemoryMeter::current());
    state_before_ = save_generator(generator_of(
        current_op(), changed_constants_.empty() ? constants_of(current_op()) : changed_constants_, device_));
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
      operand_aliases_[at] = alias_of(op.operands[at].geometry, tensor);
    });
  }
}

int32_t Recorder::add_operand(const at::Tensor& tensor) {
  const ValueId known = current_value(tensor);
  const ValueId value = known.valid() ? known : bind_external(tensor);
  pending_.operands.push_back({value, Geometry::of(tensor)});
  operand_aliases_.push_back(alias_of(pending_.operands.back().geometry, tensor));
  return static_cast<int32_t>(pending_.operands.size()) - 1;
}

void Recorder::write_down(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  pending_ = {};
  operand_aliases_.clear();
  changed_constants_.clear();
  pending_.info = &info;
  pending_.default_dtype = c10::get_default_dtype();
  pending_.arguments.resize(inputs.size());
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    Argument& argument = pending_.arguments[a];
    const auto& input = inputs[a];
    if (is_hidden_write(info, a, inputs)) continue;  // replayed without: None
    bool all_trackable = true;
    for_each_tensor(input, [&](const at::Tensor& tensor) { all_trackable &= !tensor.defined() || trackable(tensor); });
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

// A program may fill what a factory made through a pointer (torch::tensor does):
// no call shows that. So when such a value is first read, it is compared with
// what the factory makes, and kept if it is something else.
void Recorder::pin_unseen_contents(const TapeOp& op) {
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId value = op.operands[i].value;
    if (value.at() < followed_values() || was_read_[value.at()] != 0 || follow_) continue;
    const OpId maker = own_->values[value.at()].maker;
    if (!maker.valid()) continue;
    TapeOp& factory = own_->ops[maker.at()];
    if (factory.pinned || !factory.operands.empty() || factory.outputs.size() != 1) continue;
    const at::Tensor& tensor = operand_aliases_[i];
    if (i == 0 && op.info->overwrites_all &&
        tensor.numel() * static_cast<int64_t>(tensor.itemsize()) == own_->values[value.at()].bytes) {
      continue;
    }
    bool same = false;
    if (!factory.info->uninitialized) {
      const auto again = replay(factory, constants(maker), {}, random_state(maker), device_);
      same = again.size() == 1 && storages_equal(again.front().storage(), tensor.storage());
    }
    if (same) continue;
    factory.pinned = true;
    factory.pinned_reason = "its contents were written by no call that is seen";
    client_.value_made(value, tensor, true);
  }
}

bool Recorder::is_external_or_pinned(ValueId value) const {
  const auto maker = tape().values[value.at()].maker;
  return !maker.valid() || tape().ops[maker.at()].pinned;
}

void Recorder::announce_overwrites(const TapeOp& op) {
  for_each_written(op, [&](std::size_t operand) {
    const ValueId value = op.operands[operand].value;
    client_.before_overwrite(value, operand_aliases_[operand],
                             is_external_or_pinned(value) && was_read_[value.at()] != 0);
  });
  for (const auto& operand : op.operands) was_read_[operand.value.at()] = 1;
}

// What an op writes in secret is another value from here on, and nobody knows
// its maker: an external.
void Recorder::forget_hidden_writes(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  for (const auto a : info.hidden_writes) {
    if (!is_hidden_write(info, a, inputs)) continue;
    for_each_tensor(inputs[a], [&](const at::Tensor& tensor) {
      const ValueId value = value_of(tensor);
      if (!value.valid()) return;
      client_.before_overwrite(value, tensor, is_external_or_pinned(value) && was_read_[value.at()] != 0);
      current_.erase(tensor.storage().unsafeGetStorageImpl());
    });
  }
}

// The value of a storage, unless it was given other memory by resize_.
ValueId Recorder::current_value(const at::Tensor& tensor) {
  const auto found = current_.find(tensor.storage().unsafeGetStorageImpl());
  if (found == current_.end()) return {};
  const ValueId value = found->second;
  if (tape().values[value.at()].bytes == static_cast<int64_t>(tensor.storage().nbytes())) return value;
  client_.before_overwrite(value, tensor, is_external_or_pinned(value) && was_read_[value.at()] != 0);
  current_.erase(found);
  return {};
}

// ---- end of an op

std::optional<OpId> Recorder::end(const std::vector<c10::IValue>& outputs) {
  if (!in_op_) return std::nullopt;
  std::vector<at::Tensor> results;
  for (const auto& output : outputs) {
    for_each_tensor(output, [&](const at::Tensor& tensor) { results.push_back(tensor); });
  }
  if (following_op_) {
    for_each_written(current_op(), [&](std::size_t operand) {
      const auto& storage = operand_aliases_[operand].storage();
      const auto& value = follow_->values[current_op().operands[operand].value.at()];
      if (static_cast<int64_t>(storage.nbytes()) != value.bytes) current_.erase(storage.unsafeGetStorageImpl());
    });
    if (!outputs_follow(results)) diverge();
  }
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
  for_each_written(pending_, [&](std::size_t operand) {
    const auto found = current_.find(operand_aliases_[operand].storage().unsafeGetStorageImpl());
    if (found == current_.end()) return;
    const auto& value = tape().values[found->second.at()];
    if (static_cast<int64_t>(operand_aliases_[operand].storage().nbytes()) != value.bytes) {
      current_.erase(found);  // it got other memory: unknown from here on
      pending_.pinned = true;
      pending_.pinned_reason = "it gives other memory to a tensor that it writes to";
    } else if (!value.maker.valid()) {
      // What an external holds now is an external of its own; the old contents,
      // if anybody has read them, were copied.
      pending_.writes_external = true;
    }
  });
  const auto make = [&](TapeValue value, const at::Tensor& tensor, int32_t result, int32_t operand, bool external) {
    diverge();  // values are added to our own tape
    value.maker = external ? OpId() : maker;
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
    TapeValue value;
    value.requires_grad = grad;
    const OpId made_by = tape().values[before.at()].maker;
    if (!made_by.valid()) {
      // An external again.
    } else if (tape().ops[made_by.at()].pinned) {
      pending_.pinned = true;
      pending_.pinned_reason =
          "it writes over the output of " + tape().ops[made_by.at()].info->name + ", which cannot be replayed";
    } else {
      diverge();
      value.overwrites = before;
      own_->values[before.at()].overwritten = true;
      if (pending_.writes_external) {
        pending_.pinned = true;
        pending_.pinned_reason = "it also writes to a tensor from outside the step";
      }
    }
    make(value, tensor, -1, static_cast<int32_t>(operand), !made_by.valid());
  });
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (!results[r].defined() || !trackable(results[r])) continue;
    if (current_.count(results[r].storage().unsafeGetStorageImpl()) != 0) continue;  // a view or an argument
    TapeValue value;
    value.requires_grad = grad;
    if (pending_.writes_external) pending_.pinned = true;
    make(value, results[r], static_cast<int32_t>(r), -1, pending_.writes_external);
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
  if (found == current_.end()) return {};
  const bool resized = tape().values[found->second.at()].bytes != static_cast<int64_t>(tensor.storage().nbytes());
  return resized ? ValueId() : found->second;
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
