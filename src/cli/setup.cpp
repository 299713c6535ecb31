#include "cli/setup.h"

#include "reforward/error.h"

namespace reforward::cli {

void Setup::add_to(CLI::App& command) {
  command.add_option("--model", model, "its name, see `reforward models`")->required();
  command.add_option("--data", data, "fashion-mnist, synthetic, or a folder with a sub-folder of images per class");
  command.add_option("--batch", batch, "samples a step")->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  command.add_option("--image", image, "pixels a side (tokens: the length of a text)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 16));
  command.add_option("--seed", seed, "of parameters, data order and dropout");
}

Workload::Workload(const Setup& setup) : name_(setup.model), seed_(setup.seed) {
  const auto& model = models::info(setup.model);
  batch_ = setup.batch > 0 ? setup.batch : model.default_batch;
  options_.image = setup.image > 0 ? setup.image : model.default_image;
  if (setup.data != "synthetic") {
    if (model.input != models::Input::image) {
      throw InputError("The model " + model.name + " does not take images; give --data synthetic.");
    }
    images_ = setup.data == "fashion-mnist" ? data::open_fashion_mnist() : data::open_folder(setup.data);
    options_.classes = images_->classes();
    loader_ = std::make_unique<data::Loader>(*images_, batch_, options_.image, seed_);
    const int64_t last = images_->size() % batch_;
    options_.batch = last > 0 ? last : batch_;
  }
  torch::manual_seed(seed_);
  network_ = models::make(setup.model, options_);
}

std::pair<torch::Tensor, torch::Tensor> Workload::batch(int64_t step) {
  if (loader_) return loader_->batch(step);
  return models::synthetic_batch(name_, batch_, options_, seed_ + static_cast<uint64_t>(step));
}

void Workload::name_in(Session& session) {
  std::vector<std::pair<std::string, torch::Tensor>> names;
  for (const auto& parameter : module().named_parameters()) names.emplace_back(parameter.key(), parameter.value());
  for (const auto& buffer : module().named_buffers()) names.emplace_back(buffer.key(), buffer.value());
  session.name(names);
}

void Workload::label(Trace& trace) const {
  trace.model = name_;
  trace.batch = batch_;
  trace.image = options_.image;
}

int64_t Workload::gradient_bytes() {
  int64_t bytes = 0;
  for (const auto& parameter : module().parameters()) {
    if (parameter.grad().defined()) bytes += static_cast<int64_t>(parameter.grad().storage().nbytes());
  }
  return bytes;
}

void Workload::clear_gradients() {
  for (auto& parameter : module().parameters()) parameter.mutable_grad() = torch::Tensor();
}

}  // namespace reforward::cli
