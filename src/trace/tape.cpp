#include "trace/tape.h"

#include <ATen/core/TensorBody.h>

#include <algorithm>

namespace reforward {

Geometry Geometry::of(const at::Tensor& tensor) {
  Geometry geometry;
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  geometry.sizes.assign(sizes.begin(), sizes.end());
  geometry.strides.assign(strides.begin(), strides.end());
  geometry.offset = tensor.storage_offset();
  geometry.dtype = tensor.dtype();
  geometry.keys = tensor.key_set();
  return geometry;
}

bool Geometry::matches(const at::Tensor& tensor) const {
  return tensor.dtype() == dtype && tensor.sizes() == c10::IntArrayRef(sizes) &&
         tensor.strides() == c10::IntArrayRef(strides) && tensor.storage_offset() == offset &&
         tensor.is_conj() == keys.has(c10::DispatchKey::Conjugate) &&
         tensor.is_neg() == keys.has(c10::DispatchKey::Negative);
}

at::Tensor Geometry::view(c10::Storage storage) const {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, dtype);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return tensor;
}

bool trackable(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  return tensor.layout() == c10::kStrided && tensor.has_storage() && !impl->is_wrapped_number() && !tensor.is_meta() &&
         !tensor.is_quantized() && !tensor.is_nested() && !tensor.key_set().has(c10::DispatchKey::Python) &&
         !tensor._is_zerotensor();
}

bool is_number(const at::Tensor& tensor) { return tensor.unsafeGetTensorImpl()->is_wrapped_number(); }

bool has_opaque_tensor(const c10::IValue& value) {
  bool opaque = false;
  for_each_tensor(
      value, [&](const at::Tensor& tensor) { opaque |= tensor.defined() && !trackable(tensor) && !is_number(tensor); });
  return opaque;
}

bool is_hidden_write(const OpInfo& info, std::size_t argument, c10::ArrayRef<const c10::IValue> inputs) {
  if (info.hidden_writes.empty()) return false;
  if (info.hidden_if != OpInfo::always) {
    const auto& condition = inputs[info.hidden_if];
    if (!condition.isBool() || !condition.toBool()) return false;
  }
  return std::find(info.hidden_writes.begin(), info.hidden_writes.end(), argument) != info.hidden_writes.end();
}

}  // namespace reforward
