#include <algorithm>
#include <vector>

#include "reforward/error.h"
#include "reforward/planner.h"

namespace reforward {
namespace {

/// The ops that make `wanted` from externals and `there`, ascending.
std::vector<OpId> ops_for(const Trace& trace, const std::vector<ValueId>& wanted, std::vector<uint8_t> there) {
  std::vector<uint8_t> runs(trace.ops.size(), 0);
  std::vector<ValueId> open = wanted;
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (there[value.at()] != 0) continue;
    there[value.at()] = 1;
    const OpId maker = trace.values[value.at()].maker;
    if (!maker.valid() || runs[maker.at()] != 0) continue;
    runs[maker.at()] = 1;
    for (const ValueId input : trace.ops[maker.at()].inputs) open.push_back(input);
  }
  std::vector<OpId> ops;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i] != 0) ops.emplace_back(i);
  }
  return ops;
}

}  // namespace

Plan resume_plan(const Trace& trace, const Plan& plan, const std::vector<ValueId>& have) {
  std::vector<uint8_t> there(trace.values.size(), 0);
  for (const ValueId value : have) there[value.at()] = 1;
  std::vector<ValueId> wanted;
  for (const ValueId value : plan.keep) {
    if (there[value.at()] == 0) wanted.push_back(value);
  }
  Plan resumed = plan;
  resumed.keep = have;
  if (!wanted.empty()) {
    Reforward first;
    first.ops = ops_for(trace, wanted, there);
    first.keep = wanted;
    resumed.reforwards.insert(resumed.reforwards.begin(), std::move(first));
  }
  const Cost cost = evaluate(trace, resumed);
  resumed.predicted_peak_bytes = cost.peak_bytes;
  resumed.recompute_seconds = cost.recompute_seconds;
  return resumed;
}

}  // namespace reforward
