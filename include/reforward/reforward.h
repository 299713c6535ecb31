#pragma once

/// Everything a program needs to train inside a memory budget, and to plan and
/// judge plans by itself.

#include "reforward/budget.h"
#include "reforward/error.h"
#include "reforward/graph.h"
#include "reforward/json.h"
#include "reforward/plan.h"
#include "reforward/planner.h"
#include "reforward/session.h"
#include "reforward/simulate.h"
#include "reforward/trace.h"
