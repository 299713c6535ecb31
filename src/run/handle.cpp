#include "run/handle.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/variable.h>

#include "run/step.h"

namespace reforward {

Handle::Handle(std::shared_ptr<Step> step) : step_(std::move(step)) {}

Handle::~Handle() { step_->released(*this); }

void Handle::call_pack_hook(const at::Tensor& tensor) {
  if (!tensor.is_inference()) {
    counter_ = torch::autograd::impl::version_counter(tensor);
    version_ = counter_->current_version();
  }
  if (trackable(tensor)) {
    geometry = Geometry::of(tensor);
    storage = tensor.storage();
    step_->pack(*this, tensor);
  } else {
    opaque = tensor.variable_data();
  }
}

at::Tensor Handle::call_unpack_hook() {
  check_version();
  if (opaque.defined()) return opaque;
  if (storage) return geometry.view(storage);
  return step_->unpack(*this);
}

void Handle::check_version() const {
  // The words of torch/csrc/autograd/saved_variable.cpp, so that who searches
  // for the message finds the same advice.
  if (!counter_ || counter_->current_version() == version_) return;
  TORCH_CHECK(false,
              "one of the variables needed for gradient computation has been modified by an inplace operation: [",
              geometry.dtype.name(), " ", c10::IntArrayRef(geometry.sizes), "] is at version ",
              counter_->current_version(), "; expected version ", version_, " instead.");
}

}  // namespace reforward
