#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reforward/budget.h"
#include "reforward/plan.h"
#include "reforward/trace.h"

namespace reforward {

struct SessionOptions {
  Budget budget{};                ///< default 100 %: everything is kept
  std::string solver = "budget";  ///< one of solver_names()
  /// What will be held beside in later steps and is not there at the first one:
  /// optimizers make their state after it (AdamW two tensors a parameter, SGD
  /// with momentum one). Plans leave room for it from the start.
  int64_t reserve_bytes = 0;
  c10::DeviceType device = c10::kCPU;  ///< whose memory is budgeted
  /// Plans kept, one per kind of step (shapes, branches); the oldest goes first.
  std::size_t max_plans = 16;
};

/// What one step did. Bytes are of the whole device, static bytes included.
struct StepReport {
  enum class Kind : uint8_t {
    first,    ///< not seen before: traced while it happened
    planned,  ///< ran under a plan made from measurements
    plain,    ///< nothing of it could be planned (no backward ran)
  };
  Kind kind = Kind::plain;
  int64_t budget_bytes = 0;          ///< what the plan had to meet; 0: unknown yet
  int64_t predicted_peak_bytes = 0;  ///< said before backward (first) or before the step (planned)
  int64_t measured_peak_bytes = 0;
  int64_t static_bytes = 0;    ///< held when the step began
  int64_t gradient_bytes = 0;  ///< held more when it ended
  double seconds = 0;
  double recompute_seconds = 0;  ///< measured, re-forwards only
  double plan_seconds = 0;       ///< spent planning in or after this step
};

/// Trains inside a budget. One Session per thread; it watches the thread that
/// made it.
///
///   reforward::Session session({.budget = reforward::parse_budget("2GiB")});
///   for (auto& batch : loader) {
///     session.step([&] {
///       auto loss = criterion(model->forward(batch.data), batch.target);
///       loss.backward();
///     });
///     optimizer.step();
///     optimizer.zero_grad();
///   }
///
/// The body runs exactly once. It does one forward and one backward; loss,
/// gradients, buffers and random state after it are equal to the plain step's
/// to the last bit. Nothing of the model is changed or held between steps.
///
/// States of a step:
///
///                    op matches a known trace
///   begin ──▶ matching ───────────────────────▶ backward under its plan ──▶ end
///               │ no known trace, or it diverges           ▲
///               ▼                                          │
///            tracing ──▶ backward begins: plan from the ───┘
///                        estimate, one re-forward
///                        of what it keeps
///
/// If the body throws, the exception passes through; model, gradients and
/// random state are as plain PyTorch would leave them, and the next step works.
class Session {
 public:
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one forward and backward. Throws BudgetError, after a first step, if
  /// the budget cannot be met by any plan found (that step itself is complete
  /// and right), and whatever the body throws.
  StepReport step(const std::function<void()>& body);

  /// Tells the session about tensors that were made before any Session or
  /// MemoryMeter existed on this thread (parameters, optimizer state), so that
  /// its bytes are those of the device. Storages are counted once.
  void count(const std::vector<at::Tensor>& tensors);

  /// Names for reports: parameters and buffers, as `module->named_parameters()`
  /// gives them.
  void name(const std::vector<std::pair<std::string, at::Tensor>>& tensors);

  /// The trace and plan that the last step ran under or led to; null before.
  std::shared_ptr<const Trace> trace() const;
  std::shared_ptr<const Plan> plan() const;

  /// Replaces the plan for the last trace's kind of step; FormatError if it
  /// does not fit. For experiments with planners.
  void set_plan(const Plan& plan);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Bytes that the allocator holds for tensors, as seen from this thread since
/// the meter was installed (CPU: exact, every allocation and free).
struct MemoryUse {
  int64_t live_bytes = 0;
  int64_t peak_bytes = 0;
};
/// Installs the meter on this thread if it is not there yet; call it first in
/// main() so that everything is counted. Sessions install it too.
void install_memory_meter();
MemoryUse memory_use();
void reset_memory_peak();

}  // namespace reforward
