#pragma once

#include <cstdint>
#include <string>

#include "plan/index.h"
#include "reforward/plan.h"

namespace reforward {

/// The plan in which every saved value is kept that can be.
Plan keep_everything(const TraceIndex& index);

/// Signs a plan: its solver, its trace, and what simulate says of it.
Plan finish(const TraceIndex& index, Plan plan, std::string solver, int64_t budget_bytes);

}  // namespace reforward
