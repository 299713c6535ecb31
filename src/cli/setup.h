#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cli/command.h"
#include "data/data.h"
#include "models/models.h"
#include "reforward/session.h"

namespace reforward::cli {

/// The model and data of `trace`, `train` and `bench`, as asked for.
struct Setup {
  std::string model;
  std::string data = "synthetic";
  int64_t batch = 0;  ///< 0: the model's default
  int64_t image = 0;
  uint64_t seed = 1;

  void add_to(CLI::App& command);
};

/// A network with its batches.
class Workload {
 public:
  explicit Workload(const Setup& setup);

  models::Network& network() { return *network_; }
  torch::nn::Module& module() { return network_->module(); }
  std::pair<torch::Tensor, torch::Tensor> batch(int64_t step);
  int64_t batch_size() const { return batch_; }
  int64_t image() const { return options_.image; }

  void name_in(Session& session);
  void label(Trace& trace) const;
  int64_t gradient_bytes();
  void clear_gradients();

 private:
  std::string name_;
  int64_t batch_ = 0;
  uint64_t seed_ = 0;
  models::Options options_;
  std::unique_ptr<data::Images> images_;
  std::unique_ptr<data::Loader> loader_;
  std::unique_ptr<models::Network> network_;
};

}  // namespace reforward::cli
