#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <list>
#include <memory>

#include "reforward/session.h"
#include "run/known_step.h"
#include "trace/op_info.h"

namespace reforward {

/// The kinds of step that a session has seen, each with its plan, latest first.
class KnownSteps {
 public:
  explicit KnownSteps(SessionOptions options);

  const SessionOptions& options() const { return options_; }
  int64_t static_bytes() const { return static_bytes_; }

  void begin_step(int64_t static_bytes);
  /// The latest that begins with this op, planned for what is held now; null if
  /// there is none or its budget cannot be met.
  std::shared_ptr<const KnownStep> choose(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs);
  std::shared_ptr<const KnownStep> latest() const { return steps_.empty() ? nullptr : steps_.front(); }
  /// What the device will hold at most, if the step goes as planned.
  int64_t predicted_peak(const KnownStep& known) const;

  void add(std::shared_ptr<const Tape> tape, Trace trace);
  void replace(const std::shared_ptr<const KnownStep>& known, Trace trace);
  void measure_again(const std::shared_ptr<const KnownStep>& known);
  void set_plan(const Plan& plan);

  double take_plan_seconds();
  void throw_if_out_of_budget();

 private:
  std::shared_ptr<KnownStep> plan_for(std::shared_ptr<const Tape> tape, std::shared_ptr<const Trace> trace);
  void keep(std::shared_ptr<KnownStep> step);

  SessionOptions options_;
  int64_t static_bytes_ = 0;
  int64_t settled_bytes_ = 0;  // static bytes at the first step, and what is reserved
  double plan_seconds_ = 0;
  std::exception_ptr out_of_budget_;
  std::list<std::shared_ptr<KnownStep>> steps_;
};

}  // namespace reforward
