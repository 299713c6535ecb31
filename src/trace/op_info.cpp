#include "trace/op_info.h"

#include <ATen/autocast_mode.h>
#include <c10/util/flat_hash_map.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>

namespace reforward {
namespace {

bool returns_tensors(const c10::FunctionSchema& schema) {
  for (const auto& value : schema.returns()) {
    const auto& type = *value.type();
    if (type.isSubtypeOf(*c10::TensorType::get())) return true;
    if (type.kind() == c10::TypeKind::ListType || type.kind() == c10::TypeKind::OptionalType) {
      const auto contained = type.containedType(0);
      if (contained->isSubtypeOf(*c10::TensorType::get())) return true;
    }
    if (type.kind() == c10::TypeKind::AnyType) return true;
  }
  return false;
}

bool returns_only_views(const c10::FunctionSchema& schema) {
  for (const auto& value : schema.returns()) {
    if (value.alias_info() == nullptr) return false;
  }
  return !schema.returns().empty();
}

// Kernels whose running statistics are written although the schema is silent.
struct HiddenWrites {
  std::string_view name;
  std::string_view condition;
};
constexpr std::array<HiddenWrites, 7> hidden_writers{{
    {"aten::native_batch_norm", "training"},
    {"aten::cudnn_batch_norm", "training"},
    {"aten::miopen_batch_norm", "training"},
    {"aten::native_batch_norm_legit_functional", "training"},
    {"aten::batch_norm_update_stats", ""},
    {"aten::batch_norm_gather_stats", ""},
    {"aten::batch_norm_gather_stats_with_counts", ""},
}};

constexpr std::array<std::string_view, 6> uninitialized_makers{
    "aten::empty",     "aten::empty_like",        "aten::empty_strided",
    "aten::new_empty", "aten::new_empty_strided", "aten::empty_permuted"};

}  // namespace

OpInfo OpInfo::make(const c10::OperatorHandle& op) {
  using c10::DispatchKey;
  OpInfo info(op);
  const auto& schema = op.schema();
  info.name = schema.name();
  const std::string bare = info.name;
  if (!schema.overload_name().empty()) info.name += "." + schema.overload_name();

  for (const auto& argument : schema.arguments()) {
    const bool writes = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    info.writes.push_back(writes ? 1 : 0);
    info.any_writes |= writes;
  }
  const bool metadata_only = op.hasTag(at::Tag::inplace_view);
  info.reseats_storage = bare == "aten::resize_" || bare == "aten::set_" || bare == "aten::resize_as_";
  if (metadata_only) {
    info.any_writes = false;
    info.writes.assign(info.writes.size(), 0);
  }
  info.makes_values = info.any_writes || (returns_tensors(schema) && !returns_only_views(schema) && !metadata_only);
  info.random = op.hasTag(at::Tag::nondeterministic_seeded);
  for (const auto& name : uninitialized_makers) info.uninitialized |= bare == name;

  constexpr std::array<std::string_view, 12> overwriters{
      "aten::fill_",   "aten::zero_",   "aten::copy_",        "aten::bernoulli_", "aten::normal_",     "aten::uniform_",
      "aten::random_", "aten::cauchy_", "aten::exponential_", "aten::geometric_", "aten::log_normal_", "aten::eye_"};
  for (const auto& name : overwriters) info.overwrites_all |= bare == name;

  for (const auto& writer : hidden_writers) {
    if (bare != writer.name) continue;
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
      const auto& name = schema.arguments()[i].name();
      if (name == "running_mean" || name == "running_var") info.hidden_writes.push_back(i);
      if (name == writer.condition) info.hidden_if = i;
    }
  }

  const auto per_device = [&](DispatchKey backend, DispatchKey autograd, DispatchKey autocast) {
    PerDevice result;
    // As the dispatcher fills its table: a composite kernel goes before one that
    // is registered for all of autograd (linear and matmul have both, the latter
    // for nested tensors), but after one for the backend.
    result.composite = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
                       !op.hasKernelForDispatchKey(backend) && !op.hasKernelForDispatchKey(autograd) &&
                       !op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd);
    result.autocast = op.hasKernelForDispatchKey(autocast) && !op.isKernelFallthroughKernel(autocast);
    return result;
  };
  info.cpu_ = per_device(DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU);
  info.cuda_ = per_device(DispatchKey::CUDA, DispatchKey::AutogradCUDA, DispatchKey::AutocastCUDA);
  return info;
}

bool OpInfo::above_autograd(c10::DeviceType device) const {
  const auto& here = device == c10::DeviceType::CUDA ? cuda_ : cpu_;
  if (here.composite) return true;
  // is_autocast_enabled is false inside autocast's own kernels: the key is
  // excluded there, so the nested call with the cast arguments is recorded.
  return here.autocast && at::autocast::is_autocast_enabled(device);
}

const OpInfo* find_op_info(const at::RecordFunction& call) {
  // RecordFunction does not hand out its schema; the name it points at belongs
  // to the registered schema, so its address identifies the operator. An
  // operator that was deregistered could leave its address to another one: the
  // text is compared too.
  struct Known {
    std::string text;
    std::string overload;
    std::unique_ptr<OpInfo> info;
  };
  thread_local ska::flat_hash_map<const char*, Known> known;
  const char* text = call.name();
  const char* overload = call.overload_name();
  const auto found = known.find(text);
  if (found != known.end() && found->second.text == text && found->second.overload == overload) {
    return found->second.info.get();
  }
  std::unique_ptr<OpInfo> info;
  if (const auto name = call.operator_name()) {
    if (const auto handle = c10::Dispatcher::singleton().findSchema(*name)) {
      info = std::make_unique<OpInfo>(OpInfo::make(*handle));
    }
  }
  auto& entry = known[text];
  entry = {text, overload, std::move(info)};
  return entry.info.get();
}

}  // namespace reforward
