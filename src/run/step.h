#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reforward/plan.h"
#include "reforward/schedule.h"
#include "run/handle.h"
#include "run/known_step.h"
#include "run/values.h"
#include "trace/assemble.h"
#include "trace/engine.h"
#include "trace/meter.h"
#include "trace/observer.h"
#include "trace/recorder.h"

namespace reforward {

/// What a step asks its session. A step decides nothing by itself.
struct StepAdvice {
  /// The known steps that may begin with this op, best guess first.
  std::function<std::shared_ptr<const KnownStep>(const OpInfo&, c10::ArrayRef<const c10::IValue>)> choose;
  /// A plan for a step whose backward is still an estimate.
  std::function<Plan(const Trace&)> plan_first;
};

/// One training step while it happens: follows or writes its tape, holds what
/// the plan keeps, and brings back the rest when backward asks for it. Lives as
/// long as the session's step or any tensor that autograd saved in it.
///
/// Note [The way of one saved tensor]
/// Autograd saves a tensor: `make_hooks` gives it a Handle, whose pack hook comes
/// here (`pack`); the value is noted and the tensor let go. If the plan keeps the
/// value, `value_made` holds its storage. In backward the handle's unpack hook
/// comes here again (`unpack`); if the value is not held, `bring_back` runs the
/// plan's pending re-forwards up to the one that makes it. When autograd drops
/// the handle (`released`) and the plan has no further use, it is freed.
class Step final : public OpListener,
                   public EngineListener,
                   public RecorderClient,
                   public std::enable_shared_from_this<Step> {
 public:
  Step(StepAdvice advice, c10::DeviceType device);
  ~Step() override;

  /// The session's body is over (or threw): nothing more is recorded.
  void finish();

  // OpListener
  void op_begin(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) noexcept override;
  void op_end(const std::vector<c10::IValue>& outputs) noexcept override;
  void op_failed() noexcept override;
  // EngineListener
  std::unique_ptr<torch::autograd::SavedVariableHooks> make_hooks() override;
  void backward_begins() override;
  void backward_ends() noexcept override;
  // RecorderClient
  void external_bound(ValueId value, const at::Tensor& tensor) override;
  void before_overwrite(ValueId value, const at::Tensor& tensor, bool to_copy) override;
  void value_made(ValueId value, const at::Tensor& tensor, bool pinned) override;

  // Handle
  void pack(Handle& handle, const at::Tensor& tensor);
  at::Tensor unpack(Handle& handle);
  void released(Handle& handle) noexcept;

  /// Backward ran and nothing that autograd saved is left.
  bool complete() const { return phase_ == Phase::over && backward_ran_ && handles_ == 0; }
  bool planned() const { return planned_; }
  bool measured() const { return was_measured_; }
  std::shared_ptr<const KnownStep> known() const { return known_; }
  std::shared_ptr<const Tape> tape() const { return recorder_->share_tape(); }
  /// Of a complete step that was measured.
  Trace assemble_trace() const;
  int64_t predicted_peak_bytes() const { return predicted_peak_; }
  double recompute_seconds() const { return recompute_seconds_; }
  double plan_seconds() const { return plan_seconds_; }
  std::exception_ptr failure() const { return failure_; }
  void set_observer(Observer* observer) { observer_ = observer; }
  void name_externals(std::function<std::string(const at::Tensor&)> name) { name_of_ = std::move(name); }

 private:
  enum class Phase : uint8_t { forward, backward, over };
  using Clock = std::chrono::steady_clock;

  void start(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs);
  void measure_from_here();
  void leave_known_step(std::size_t ops);
  void saw_death(ValueId value);
  void resolve(Handle& handle, OpId op);
  void plan_now();
  void adopt_schedule(const Schedule& schedule);
  void note_event(BackwardEvent::Kind kind, SavedId saved);
  void bring_back(ValueId value);
  void run(const Schedule::Run& run);
  void run_on_demand(ValueId value);
  std::string external_name(ValueId value) const;
  void replay_op(OpId op, const std::vector<ValueId>& copy_first);
  void fail_with(std::exception_ptr error) noexcept;

  StepAdvice advice_;
  c10::DeviceType device_;
  MemoryMeter& meter_;
  Observer* observer_ = nullptr;
  std::function<std::string(const at::Tensor&)> name_of_;
  Phase phase_ = Phase::forward;
  bool finished_ = false;
  bool backward_ran_ = false;
  bool planned_ = false;
  std::exception_ptr failure_;

  std::shared_ptr<const KnownStep> known_;
  std::optional<Recorder> recorder_;
  HeldValues held_;
  std::size_t handles_ = 0;  // of recorded values, alive
  std::vector<Saved> saved_;
  std::vector<uint8_t> saved_alive_;
  std::vector<Handle*> unresolved_;  // packed inside the op in progress

  Schedule own_schedule_;  // of a first step
  const Schedule* schedule_ = nullptr;
  std::size_t next_run_ = 0;
  int64_t predicted_peak_ = 0;
  double recompute_seconds_ = 0;
  double plan_seconds_ = 0;

  bool measuring_ = false;
  bool was_measured_ = false;
  bool in_op_ = false;
  Measurement measurement_;
  Clock::time_point op_started_, forward_started_, backward_started_;
  int64_t live_at_op_ = 0;
  /// Reading a generator's state takes a tensor for a moment, before a random op
  /// in forward and in a replay; counted with the op.
  const int64_t state_bytes_;
};

}  // namespace reforward
