#include "plan/finish.h"
#include "plan/frontier.h"
#include "reforward/planner.h"

namespace reforward {

Plan plan_minimal(const Trace& trace) {
  const TraceIndex index(trace);
  auto frontier = find_frontier(index);
  return finish(index, std::move(frontier.front().plan), "minimal", 0);
}

}  // namespace reforward
