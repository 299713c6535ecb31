#pragma once

#include <cstdint>
#include <string>

#include "reforward/plan.h"
#include "reforward/trace.h"

namespace reforward::judge {

struct Verdict {
  bool sound = false;
  std::string why;  ///< when it is not
  int64_t peak_bytes = 0;
  double recompute_seconds = 0;
};

/// The slow judge: plays a plan on a trace from the words of plan.h alone and
/// shares nothing with src/plan. It first lets every op make new buffers and
/// writes down who uses which buffer when; then it knows each buffer's life and
/// adds up, at every moment of the step, all that are alive. That buffers which
/// are really written over hold the right contents is schedule_test's to say.
Verdict judge(const Trace& trace, const Plan& plan);

}  // namespace reforward::judge
