#pragma once

#include <cstdint>
#include <vector>

#include "plan/index.h"
#include "plan/lowering.h"
#include "reforward/simulate.h"

namespace reforward {

/// `simulate` and `evaluate` with buffers that are used again from plan to plan.
/// The fingerprint of a plan is not looked at here.
class Evaluator {
 public:
  explicit Evaluator(const TraceIndex& index) : index_(index), lowered_(index) {}

  Cost cost(const Plan& plan);
  Timeline timeline(const Plan& plan);

 private:
  template <class Visitor>
  double play(const Plan& plan, Visitor&& visit);
  template <class Visitor>
  void play_run(std::size_t run, std::size_t position, Visitor&& visit);
  void add_holds_of_forward();
  void free_hold(const Lowering::Hold& hold, std::size_t position);

  const TraceIndex& index_;
  Lowering lowered_;
  std::vector<int64_t> starts_;  // by position: bytes that only we hold from there on
  int64_t held_ = 0;             // bytes held by us now that the bare step does not hold
  double seconds_ = 0;
};

}  // namespace reforward
