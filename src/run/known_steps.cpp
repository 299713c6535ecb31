#include "run/known_steps.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "reforward/error.h"
#include "reforward/planner.h"
#include "reforward/simulate.h"

namespace reforward {
namespace {

constexpr int most_measurements = 4;

/// Whether the op that begins a step is the tape's first one.
bool begins_with(const Tape& tape, const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  if (tape.ops.empty()) return false;
  const TapeOp& first = tape.ops.front();
  if (first.info != &info || first.arguments.size() != inputs.size()) return false;
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    const Argument& argument = first.arguments[a];
    if (argument.kind == Argument::Kind::constant) continue;
    std::size_t i = 0;
    bool same = true;
    for_each_tensor(inputs[a], [&](const at::Tensor& tensor) {
      if (i >= argument.operands.size()) return void(same = false);
      const int32_t operand = argument.operands[i++];
      same = same && (operand < 0 ? !tensor.defined()
                                  : tensor.defined() && trackable(tensor) &&
                                        first.operands[static_cast<std::size_t>(operand)].geometry.matches(tensor));
    });
    if (!same || i != argument.operands.size()) return false;
  }
  return true;
}

}  // namespace

KnownSteps::KnownSteps(SessionOptions options) : options_(std::move(options)) {
  const auto& names = solver_names();
  if (std::find(names.begin(), names.end(), options_.solver) == names.end()) {
    make_plan({}, options_.solver, {});  // says which there are
  }
}

void KnownSteps::begin_step(int64_t static_bytes) {
  if (settled_bytes_ == 0) settled_bytes_ = static_bytes + options_.reserve_bytes;
  static_bytes_ = static_bytes;
  out_of_budget_ = nullptr;
}

int64_t KnownSteps::predicted_peak(const KnownStep& known) const {
  return known.plan->predicted_peak_bytes + static_bytes_ - known.trace->static_bytes;
}

std::shared_ptr<const KnownStep> KnownSteps::choose(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  std::shared_ptr<KnownStep> nearest;
  for (const auto& step : steps_) {
    if (!begins_with(*step->tape, op, inputs)) continue;
    const auto distance = [this](const KnownStep& known) {
      return std::abs(static_bytes_ - known.trace->static_bytes);
    };
    if (!nearest || distance(*step) < distance(*nearest)) nearest = step;
  }
  if (!nearest) return nullptr;
  // What is held before the step shifts everything by as much. A little does
  // not need another plan, as long as the step stays within its budget.
  const int64_t shift = static_bytes_ - nearest->trace->static_bytes;
  const bool close = std::abs(shift) <= nearest->trace->static_bytes / 1000;
  if (shift != 0 && !(close && predicted_peak(*nearest) <= nearest->budget_bytes)) {
    auto trace = std::make_shared<Trace>(*nearest->trace);
    trace->static_bytes = static_bytes_;
    try {
      nearest = plan_for(nearest->tape, trace);
    } catch (const BudgetError&) {
      out_of_budget_ = std::current_exception();
      return nullptr;
    }
    nearest->measure_again = true;
  }
  steps_.remove(nearest);
  keep(nearest);
  return nearest;
}

std::shared_ptr<KnownStep> KnownSteps::plan_for(std::shared_ptr<const Tape> tape, std::shared_ptr<const Trace> trace) {
  const auto started = std::chrono::steady_clock::now();
  auto known = std::make_shared<KnownStep>();
  const Budget& budget = options_.budget;
  known->plain_peak_bytes = evaluate(*trace, plan_keep(*trace)).peak_bytes;
  Plan plan;
  if (options_.solver == "budget" && budget.kind == Budget::Kind::least) {
    plan = plan_minimal(*trace);
    known->budget_bytes = plan.predicted_peak_bytes;
  } else {
    const int64_t least = budget.kind == Budget::Kind::least ? plan_minimal(*trace).predicted_peak_bytes : 0;
    known->budget_bytes = resolve(budget, known->plain_peak_bytes, least);
    plan = make_plan(*trace, options_.solver, {.budget_bytes = known->budget_bytes});
    // Other solvers take no budget: `min` then means what theirs needs.
    if (budget.kind == Budget::Kind::least) known->budget_bytes = plan.predicted_peak_bytes;
    if (plan.predicted_peak_bytes > known->budget_bytes) {
      throw BudgetError("The " + options_.solver + " solver's plan needs " + std::to_string(plan.predicted_peak_bytes) +
                            " bytes, over the budget of " + std::to_string(known->budget_bytes) +
                            "; allow that much or use the budget solver.",
                        plan.predicted_peak_bytes);
    }
  }
  plan.budget_bytes = known->budget_bytes;
  known->schedule = compile_schedule(*trace, plan);
  known->tape = std::move(tape);
  known->trace = std::move(trace);
  known->plan = std::make_shared<const Plan>(std::move(plan));
  known->plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  plan_seconds_ += known->plan_seconds;
  return known;
}

void KnownSteps::keep(std::shared_ptr<KnownStep> step) {
  steps_.push_front(std::move(step));
  while (steps_.size() > std::max<std::size_t>(options_.max_plans, 1)) steps_.pop_back();
}

void KnownSteps::add(std::shared_ptr<const Tape> tape, Trace trace) {
  if (options_.reserve_bytes > 0) trace.static_bytes = std::max(trace.static_bytes, settled_bytes_);
  try {
    keep(plan_for(std::move(tape), std::make_shared<const Trace>(std::move(trace))));
  } catch (const BudgetError&) {
    out_of_budget_ = std::current_exception();
  }
}

void KnownSteps::replace(const std::shared_ptr<const KnownStep>& known, Trace trace) {
  const auto old = std::find(steps_.begin(), steps_.end(), known);
  if (old == steps_.end()) return;
  const auto tape = known->tape;
  const int measurements = (*old)->measurements + 1;
  steps_.erase(old);
  add(tape, std::move(trace));
  if (!out_of_budget_) steps_.front()->measurements = measurements;
}

void KnownSteps::measure_again(const std::shared_ptr<const KnownStep>& known) {
  const auto found = std::find(steps_.begin(), steps_.end(), known);
  if (found == steps_.end() || (*found)->measurements >= most_measurements) return;
  (*found)->measure_again = true;
}

void KnownSteps::set_plan(const Plan& plan) {
  if (steps_.empty()) throw InputError("No step was traced yet, so there is nothing to plan; run a step first.");
  auto& known = steps_.front();
  auto checked = std::make_shared<Plan>(plan);
  const Cost cost = evaluate(*known->trace, plan);
  checked->predicted_peak_bytes = cost.peak_bytes;
  checked->recompute_seconds = cost.recompute_seconds;
  auto changed = std::make_shared<KnownStep>(*known);
  changed->schedule = compile_schedule(*known->trace, *checked);
  changed->plan = checked;
  known = changed;
}

double KnownSteps::take_plan_seconds() { return std::exchange(plan_seconds_, 0.0); }

void KnownSteps::throw_if_out_of_budget() {
  if (out_of_budget_) std::rethrow_exception(out_of_budget_);
}

}  // namespace reforward
