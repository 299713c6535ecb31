#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

namespace reforward {

/// What a step leaves behind, bit for bit. The copies are ordinary memory, not
/// the tensor allocator's: keeping them changes no memory figure.
struct StepResult {
  std::string loss;
  std::vector<std::string> gradients;  ///< of the parameters, in order
  std::vector<std::string> buffers;
  std::string random_state;  ///< of the default CPU generator

  static StepResult of(torch::nn::Module& module, const torch::Tensor& loss);
};

/// Which parts of two results are equal to the last bit.
struct Equality {
  bool loss = true;
  bool gradients = true;
  bool buffers = true;
  bool random_state = true;

  bool all() const { return loss && gradients && buffers && random_state; }
  Equality& operator&=(const Equality& other);
};
Equality compare(const StepResult& a, const StepResult& b);

/// What forward and backward change, taken so that the same step can be run
/// again from the same state: buffers, gradients, the generator's state.
class StepState {
 public:
  explicit StepState(torch::nn::Module& module);
  void restore() const;

 private:
  torch::nn::Module& module_;
  StepResult state_;
};

}  // namespace reforward
