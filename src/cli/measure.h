#pragma once

#include <vector>

#include "models/models.h"
#include "run/verify.h"

namespace reforward::cli {

struct MeasuredStep {
  double seconds = 0;
  int64_t peak_bytes = 0;
  StepResult result;
};

/// One forward and backward as plain PyTorch does them.
MeasuredStep plain_step(models::Network& network, const torch::Tensor& data, const torch::Tensor& target);

double median(std::vector<double> numbers);

}  // namespace reforward::cli
