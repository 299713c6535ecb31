// How a recorder follows a tape: Note [Following a tape] in recorder.h.

#include <algorithm>
#include <cstring>

#include "reforward/error.h"
#include "trace/recorder.h"

namespace reforward {
namespace {

bool same_constant(const c10::IValue& a, const c10::IValue& b) {
  if (a.isNone() || b.isNone()) return a.isNone() && b.isNone();
  if (a.isBool() && b.isBool()) return a.toBool() == b.toBool();
  if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
  if (a.isDouble() && b.isDouble()) return a.toDouble() == b.toDouble();
  if (a.isIntList() && b.isIntList()) {
    const auto left = a.toIntList();
    const auto right = b.toIntList();
    return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin());
  }
  if (a.isString() && b.isString()) return a.toStringRef() == b.toStringRef();
  if (a.isDevice() && b.isDevice()) return a.toDevice() == b.toDevice();
  if (a.isTensor() && b.isTensor()) {
    const auto& left = a.toTensor();
    const auto& right = b.toTensor();
    if (!left.defined() || !right.defined()) return !left.defined() && !right.defined();
    return is_number(left) && is_number(right) && left.dtype() == right.dtype() && left.is_cpu() && right.is_cpu() &&
           std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
  }
  return false;  // noted as changed: right, only slower
}

}  // namespace

void Recorder::diverge() {
  if (!follow_) return;
  own_ = std::make_shared<Tape>();
  followed_values_ = value_count_;
  const auto ops_end = follow_->ops.begin() + static_cast<std::ptrdiff_t>(op_count_);
  const auto values_end = follow_->values.begin() + static_cast<std::ptrdiff_t>(value_count_);
  own_->ops.assign(follow_->ops.begin(), ops_end);
  own_->values.assign(follow_->values.begin(), values_end);
  for (auto& value : own_->values) value.overwritten = false;
  for (std::size_t v = 0; v < value_count_; ++v) {
    const ValueId before = own_->values[v].overwrites;
    if (before.valid()) own_->values[before.at()].overwritten = true;
  }
  if (in_op_ && following_op_) {  // go on with the op in progress as one of ours
    pending_ = follow_->ops[op_count_];
    if (!changed_constants_.empty()) {
      for (std::size_t a = 0; a < pending_.arguments.size(); ++a) {
        pending_.arguments[a].constant = changed_constants_[a];
      }
    }
    pending_.outputs.clear();
    following_op_ = false;
  }
  follow_.reset();
}

bool Recorder::follows_tensor(const TapeOp& expected, int32_t operand, const at::Tensor& tensor) {
  if (operand < 0) return !tensor.defined();
  const auto& wanted = expected.operands[static_cast<std::size_t>(operand)];
  if (!tensor.defined() || !trackable(tensor) || !wanted.geometry.matches(tensor)) return false;
  if (const ValueId value = current_value(tensor); value.valid()) return value == wanted.value;
  if (wanted.value.at() != value_count_) return false;
  const TapeValue& external = follow_->values[value_count_];
  if (external.maker.valid() || external.bytes != static_cast<int64_t>(tensor.storage().nbytes())) return false;
  bind_external(tensor);
  return true;
}

bool Recorder::follows(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  if (op_count_ >= follow_->ops.size()) return false;
  const TapeOp& expected = follow_->ops[op_count_];
  if (expected.default_dtype != c10::get_default_dtype() || expected.info != &info ||
      expected.arguments.size() != inputs.size())
    return false;
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    const Argument& argument = expected.arguments[a];
    if (is_hidden_write(info, a, inputs)) {
      if (argument.kind != Argument::Kind::constant || !argument.constant.isNone()) return false;
      continue;
    }
    if (argument.kind == Argument::Kind::constant) {
      if (inputs[a].isTensor() && inputs[a].toTensor().defined() && trackable(inputs[a].toTensor())) return false;
      if (has_opaque_tensor(inputs[a])) {
        if (!expected.pinned) return false;
        continue;
      }
      if (same_constant(argument.constant, inputs[a])) continue;
      if (changed_constants_.empty()) changed_constants_ = constants_of(expected);
      changed_constants_[a] = inputs[a];
      continue;
    }
    if (argument.kind == Argument::Kind::tensor) {
      if (!inputs[a].isTensor() || !follows_tensor(expected, argument.operands.front(), inputs[a].toTensor())) {
        return false;
      }
      continue;
    }
    std::size_t i = 0;
    bool same = true;
    for_each_tensor(inputs[a], [&](const at::Tensor& tensor) {
      same = same && i < argument.operands.size() && follows_tensor(expected, argument.operands[i], tensor);
      ++i;
    });
    if (!same || i != argument.operands.size()) return false;
  }
  if (info.any_writes) alias_written(expected, inputs);
  return true;
}

bool Recorder::outputs_follow(const std::vector<at::Tensor>& results) {
  const TapeOp& expected = follow_->ops[op_count_];
  for (const auto& output : expected.outputs) {
    if (output.operand >= 0) continue;
    const auto at = static_cast<std::size_t>(output.result);
    if (at >= results.size() || !results[at].defined() || !trackable(results[at])) return false;
    const auto& storage = results[at].storage();
    if (static_cast<int64_t>(storage.nbytes()) != follow_->values[output.value.at()].bytes) return false;
    if (current_.count(storage.unsafeGetStorageImpl()) != 0) return false;
  }
  for (const auto& output : expected.outputs) {
    const bool in_place = output.operand >= 0;
    const auto& tensor = in_place ? operand_aliases_[static_cast<std::size_t>(output.operand)]
                                  : results[static_cast<std::size_t>(output.result)];
    invariant(output.value.at() == value_count_, "values are not numbered in order");
    bind(output.value, tensor);
    announce(output.value, tensor, expected.pinned);
  }
  return true;
}

}  // namespace reforward
