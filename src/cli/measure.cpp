#include "cli/measure.h"

#include <algorithm>
#include <chrono>

#include "reforward/session.h"

namespace reforward::cli {

MeasuredStep plain_step(models::Network& network, const torch::Tensor& data, const torch::Tensor& target) {
  MeasuredStep step;
  reset_memory_peak();
  const auto started = std::chrono::steady_clock::now();
  torch::Tensor loss = network.loss(data, target);
  loss.backward();
  loss = loss.detach();
  step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  step.peak_bytes = memory_use().peak_bytes;
  step.result = StepResult::of(network.module(), loss);
  return step;
}

double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  const std::size_t middle = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

}  // namespace reforward::cli
