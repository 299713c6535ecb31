#include "plan/assemble.h"
#include "plan/finish.h"
#include "reforward/planner.h"

namespace reforward {

Plan keep_everything(const TraceIndex& index) {
  Plan plan = Assembler(index).assemble(Levels(index.trace.values.size(), 0));
  // The plain step also holds what is saved and released but never unpacked.
  std::vector<uint8_t> kept(index.trace.values.size(), 0);
  for (const ValueId value : plan.keep) kept[value.at()] = 1;
  for (const Saved& saved : index.trace.saved) {
    if (index.can_keep[saved.value.at()] != 0) kept[saved.value.at()] = 1;
  }
  plan.keep.clear();
  for (std::size_t v = 0; v < kept.size(); ++v) {
    if (kept[v] != 0) plan.keep.emplace_back(v);
  }
  return plan;
}

Plan plan_keep(const Trace& trace) {
  const TraceIndex index(trace);
  return finish(index, keep_everything(index), "keep", 0);
}

}  // namespace reforward
