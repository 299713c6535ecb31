#include "trace/replay_check.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/util/hash.h>

#include <cstring>
#include <unordered_map>

#include "reforward/error.h"

namespace reforward {
namespace {

Geometry bytes_of(const c10::Storage& storage) {
  Geometry geometry;
  geometry.sizes = {static_cast<int64_t>(storage.nbytes())};
  geometry.strides = {1};
  geometry.dtype = caffe2::TypeMeta::Make<uint8_t>();
  geometry.keys =
      c10::DispatchKeySet(storage.device_type() == c10::kCPU ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA);
  return geometry;
}

uint64_t kind_of(const TapeOp& op) {
  std::size_t hash = std::hash<const void*>{}(op.info);
  for (const auto& operand : op.operands) {
    const auto& geometry = operand.geometry;
    hash = c10::hash_combine(hash, static_cast<std::size_t>(c10::typeMetaToScalarType(geometry.dtype)));
    hash = c10::hash_combine(hash, geometry.keys.raw_repr());
    hash = c10::hash_combine(hash, geometry.sizes.size());
    // The layout: the order of the dimensions in memory, and which are broadcast.
    for (std::size_t i = 0; i < geometry.strides.size(); ++i) {
      std::size_t inner = geometry.strides[i] == 0 ? 64 : 0;
      for (std::size_t j = 0; j < geometry.strides.size(); ++j) inner += geometry.strides[j] < geometry.strides[i];
      hash = c10::hash_combine(hash, inner);
    }
  }
  // Flags and modes can switch randomness or another kernel on.
  for (const auto& argument : op.arguments) {
    const auto& constant = argument.constant;
    std::size_t seen = 0;
    if (constant.isBool()) seen = constant.toBool() ? 2 : 1;
    if (constant.isInt()) seen = c10::hash_combine(3, static_cast<std::size_t>(constant.toInt()));
    if (constant.isDouble()) seen = constant.toDouble() == 0 ? 4 : 5;
    if (constant.isString()) seen = std::hash<std::string>{}(constant.toStringRef());
    hash = c10::hash_combine(hash, seen);
  }
  return hash;
}

std::unordered_map<uint64_t, ReplayCheck::Verdict>& verdicts() {
  thread_local std::unordered_map<uint64_t, ReplayCheck::Verdict> all;
  return all;
}

}  // namespace

c10::Storage clone_storage(const c10::Storage& storage) {
  at::DisableRecordFunctionGuard unseen;
  at::NoGradGuard no_grad;
  at::AutoDispatchBelowADInplaceOrView below;
  return bytes_of(storage).view(storage).clone().storage();
}

bool storages_equal(const c10::Storage& a, const c10::Storage& b) {
  return a.nbytes() == b.nbytes() && bits_equal(bytes_of(a).view(a), bytes_of(b).view(b));
}

bool bits_equal(const at::Tensor& a, const at::Tensor& b) {
  at::DisableRecordFunctionGuard unseen;
  at::NoGradGuard no_grad;
  at::AutoDispatchBelowADInplaceOrView below;
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes() || a.strides() != b.strides()) return false;
  if (a.numel() == 0) return true;
  const at::Tensor left = a.resolve_conj().resolve_neg().cpu().contiguous();
  const at::Tensor right = b.resolve_conj().resolve_neg().cpu().contiguous();
  return std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

const ReplayCheck::Verdict* ReplayCheck::begin(const TapeOp& op, const std::vector<at::Tensor>& operands) {
  kind_ = kind_of(op);
  if (const auto found = verdicts().find(kind_); found != verdicts().end()) return &found->second;
  inputs_.clear();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto& storage = operands[i].storage();
    bool written = false;
    for_each_written(op, [&](std::size_t operand) { written |= operands[operand].storage().is_alias_of(storage); });
    inputs_.push_back(op.operands[i].geometry.view(written ? clone_storage(storage) : storage));
  }
  pending_ = true;
  return nullptr;
}

ReplayCheck::Verdict ReplayCheck::end(const TapeOp& op, const std::vector<at::Tensor>& results,
                                      const std::vector<at::Tensor>& operands, const GeneratorState& state_before,
                                      c10::DeviceType device) {
  invariant(pending_, "a replay check ended that had not begun");
  Verdict verdict;
  verdict.random = op.info->random || save_generator(generator_of(op, constants_of(op), device)) != state_before;
  try {
    const auto again = replay(op, constants_of(op), inputs_, &state_before, device);
    if (!op.info->uninitialized) {
      for (const auto& output : op.outputs) {
        const bool in_place = output.operand >= 0;
        const auto at = static_cast<std::size_t>(in_place ? output.operand : output.result);
        const at::Tensor& first = in_place ? operands[at] : results[at];
        if (!in_place && at >= again.size()) {
          verdict = {false, verdict.random, "a replay returned fewer tensors"};
        } else if (!bits_equal(first, in_place ? inputs_[at] : again[at])) {
          verdict = {false, verdict.random, "a replay gave other bits"};
        }
      }
    }
  } catch (const std::exception& error) {
    verdict = {false, verdict.random, std::string("a replay failed: ") + error.what()};
  }
  verdicts()[kind_] = verdict;
  abandon();
  return verdict;
}

void ReplayCheck::pass() {
  if (pending_) verdicts()[kind_] = {};
  abandon();
}

void ReplayCheck::abandon() {
  pending_ = false;
  inputs_.clear();
}

}  // namespace reforward
