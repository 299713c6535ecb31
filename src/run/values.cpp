#include "run/values.h"

#include <torch/csrc/autograd/variable.h>

#include "reforward/error.h"

namespace reforward {

void HeldValues::grow(std::size_t values) {
  if (values > entries_.size()) entries_.resize(values);
}

void HeldValues::hold(ValueId value, c10::Storage storage, int32_t releases) {
  auto& entry = entries_[value.at()];
  entry.storage = std::move(storage);
  entry.releases = releases;
  entry.counter.reset();
}

void HeldValues::watch(ValueId value, const at::Tensor& tensor) {
  auto& entry = entries_[value.at()];
  entry.counter.reset();
  if (tensor.is_inference()) return;
  entry.counter = torch::autograd::impl::version_counter(tensor);
  entry.version = entry.counter->current_version();
}

bool HeldValues::stale(ValueId value) const {
  const auto& entry = entries_[value.at()];
  return entry.counter && entry.counter->current_version() != entry.version;
}

void HeldValues::hold_external(ValueId value, const at::Tensor& tensor) {
  auto& entry = entries_[value.at()];
  entry.storage = tensor.storage();
  entry.external = true;
  watch(value, tensor);
}

void HeldValues::count_release(ValueId value) {
  auto& entry = entries_[value.at()];
  if (entry.storage && entry.releases > 0 && --entry.releases == 0) entry.storage = {};
}

void HeldValues::replace_by_copy(ValueId value, c10::Storage copy) {
  auto& entry = entries_[value.at()];
  entry.storage = std::move(copy);
  entry.counter.reset();
}

void HeldValues::check_unchanged(ValueId value, const std::string& name) const {
  const auto& entry = entries_[value.at()];
  if (!entry.counter || entry.counter->current_version() == entry.version) return;
  throw TraceError((name.empty() ? std::string("A tensor") : "Tensor '" + name + "'") +
                   " that the forward pass read was overwritten in place before backward had recomputed what needs it; "
                   "its contents must stay until backward() is over, so write to it afterwards or to a copy.");
}

std::vector<ValueId> HeldValues::tracked() const {
  std::vector<ValueId> values;
  for (std::size_t v = 0; v < entries_.size(); ++v) {
    if (entries_[v].storage && !entries_[v].external) values.emplace_back(v);
  }
  return values;
}

}  // namespace reforward
