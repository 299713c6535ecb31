#include "plan/frontier.h"

#include <algorithm>

#include "plan/assemble.h"
#include "plan/cuts.h"
#include "plan/evaluator.h"
#include "plan/finish.h"

namespace reforward {
namespace {

std::vector<FrontierPlan> without_beaten(std::vector<FrontierPlan> found) {
  std::stable_sort(found.begin(), found.end(), [](const FrontierPlan& a, const FrontierPlan& b) {
    if (a.cost.peak_bytes != b.cost.peak_bytes) return a.cost.peak_bytes < b.cost.peak_bytes;
    return a.cost.recompute_seconds < b.cost.recompute_seconds;
  });
  std::vector<FrontierPlan> best;
  for (FrontierPlan& plan : found) {
    if (best.empty() || plan.cost.recompute_seconds < best.back().cost.recompute_seconds) best.push_back(std::move(plan));
  }
  return best;
}

}  // namespace

std::vector<FrontierPlan> find_frontier(const TraceIndex& index) {
  Assembler assembler(index);
  Evaluator evaluator(index);
  std::vector<FrontierPlan> found;
  const auto add = [&](Plan plan) {
    const Cost cost = evaluator.cost(plan);
    found.push_back({std::move(plan), cost});
  };
  add(keep_everything(index));
  for (std::size_t segments = 1; segments <= 64; ++segments) add(assembler.assemble(equal_segments(index, segments)));
  return without_beaten(std::move(found));
}

}  // namespace reforward
