#include "run/step.h"

#include <algorithm>

#include "reforward/error.h"
#include "reforward/planner.h"
#include "reforward/simulate.h"

namespace reforward {

Step::Step(StepAdvice advice, c10::DeviceType device)
    : advice_(std::move(advice)),
      device_(device),
      meter_(MemoryMeter::current()),
      state_bytes_(device == c10::kCPU ? generator_state_bytes() : 0) {
  measurement_.static_bytes = meter_.live();
  forward_started_ = Clock::now();
}

Step::~Step() {
  if (measuring_) meter_.close_ledger();
}

void Step::fail_with(std::exception_ptr error) noexcept {
  // From here on autograd saves its tensors as it does without us; what was
  // dropped before can still be made again from the tape.
  if (!failure_) failure_ = error;
  in_op_ = false;
  if (recorder_) recorder_->fail();
}

// ---- forward

void Step::start(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  known_ = advice_.choose(info, inputs);
  recorder_.emplace(*this, device_, known_ ? known_->tape : nullptr);
  planned_ = known_ != nullptr;
  if (known_) {
    held_.grow(known_->trace->values.size());
    saved_.reserve(known_->trace->saved.size());
    for (const ValueId value : known_->schedule.keep) held_.want(value);
    predicted_peak_ = known_->plan->predicted_peak_bytes;
  }
  if (!known_ || known_->measure_again) measure_from_here();
}

void Step::measure_from_here() {
  if (measuring_) return;
  measuring_ = was_measured_ = true;
  meter_.open_ledger([this](ValueId value) { saw_death(value); });
  int64_t tracked = 0;
  recorder_->for_each_alive([&](ValueId value, const c10::Storage& storage) {
    tracked += meter_.enter(storage.data(), value, static_cast<int64_t>(storage.nbytes()));
  });
  meter_.set_base(meter_.live() - measurement_.static_bytes - tracked);
}

void Step::saw_death(ValueId value) {
  auto& dies = measurement_.dies;
  if (dies.size() <= value.at()) dies.resize(value.at() + 1, -1);
  // The op in progress is among the measured ones already.
  dies[value.at()] = static_cast<int32_t>(measurement_.ops.size() + measurement_.backward.size());
}

void Step::leave_known_step(std::size_t ops) {
  // It stopped following: the ops so far were measured when the known step was
  // traced, the rest is measured from here on.
  planned_ = false;
  if (recorder_->following()) recorder_->diverge();
  const Trace& trace = *known_->trace;
  const std::size_t values = recorder_->followed_values();
  measurement_.ops.clear();
  for (std::size_t i = 0; i < ops; ++i) {
    const Op& op = trace.ops[i];
    measurement_.ops.push_back({op.seconds, op.base_bytes, op.peak_bytes, op.gap_bytes});
  }
  measurement_.dies.assign(recorder_->value_count(), -1);
  measurement_.bytes.assign(recorder_->value_count(), 0);
  measurement_.names.assign(recorder_->value_count(), {});
  for (std::size_t v = 0; v < values; ++v) {
    measurement_.bytes[v] = trace.values[v].bytes;
    measurement_.names[v] = trace.values[v].name;
    const int32_t dies = trace.values[v].dies;
    if (dies <= static_cast<int32_t>(ops)) measurement_.dies[v] = dies;
  }
  for (std::size_t v = values; v < recorder_->value_count(); ++v) {
    measurement_.bytes[v] = recorder_->tape().values[v].bytes;
  }
  if (!finished_) measure_from_here();
  if (in_op_) measurement_.ops.emplace_back().base_bytes = meter_.base();
}

void Step::op_begin(const OpInfo& info, c10::ArrayRef<const c10::IValue> inputs) noexcept {
  if (phase_ != Phase::forward || failure_) return;
  in_op_ = true;
  try {
    if (!recorder_) start(info, inputs);
    if (measuring_) {
      Measurement::OfOp op;
      op.base_bytes = meter_.base();
      const int64_t gap = meter_.take_base_peak();
      if (!measurement_.ops.empty()) {
        auto& before = measurement_.ops.back();
        before.gap_bytes = std::max(before.gap_bytes, gap);
      }
      measurement_.ops.push_back(op);
    }
    op_started_ = Clock::now();
    recorder_->begin(info, inputs);
    if (planned_ && !recorder_->following()) leave_known_step(recorder_->op_count());
    live_at_op_ = meter_.live();
    meter_.mark();
  } catch (...) {
    fail_with(std::current_exception());
  }
}

void Step::op_end(const std::vector<c10::IValue>& outputs) noexcept {
  if (!in_op_) return;
  try {
    const int64_t peak = meter_.peak_since_mark() - live_at_op_;
    const double seconds = std::chrono::duration<double>(Clock::now() - op_started_).count();
    const auto op = recorder_->end(outputs);
    if (planned_ && !recorder_->following()) leave_known_step(recorder_->op_count() - (op ? 1 : 0));
    if (measuring_) {
      meter_.take_base_peak();
      auto& measured = measurement_.ops;
      if (op) {
        measured.back().seconds = seconds;
        measured.back().peak_bytes = std::max(peak, recorder_->tape().ops[op->at()].random ? state_bytes_ : 0);
        measured.back().gap_bytes = meter_.base();
      } else {  // only a view: its time and its base belong to nobody
        measured.pop_back();
      }
    }
    in_op_ = false;
    const OpId owner = op ? *op : OpId(std::max<std::size_t>(recorder_->op_count(), 1) - 1);
    auto handles = std::move(unresolved_);
    unresolved_.clear();
    for (Handle* handle : handles) {
      if (handle != nullptr) resolve(*handle, owner);
    }
  } catch (...) {
    fail_with(std::current_exception());
  }
}

void Step::op_failed() noexcept {
  if (!in_op_) return;
  in_op_ = false;
  unresolved_.clear();
  try {
    recorder_->fail();
    if (measuring_) measurement_.ops.pop_back();
    if (planned_) leave_known_step(recorder_->op_count());
  } catch (...) {
    fail_with(std::current_exception());
  }
}

void Step::external_bound(ValueId value, const at::Tensor& tensor) {
  held_.grow(value.at() + 1);
  held_.hold_external(value, tensor);
  if (measuring_) {
    measurement_.grow(value.at() + 1);
    measurement_.bytes[value.at()] = static_cast<int64_t>(tensor.storage().nbytes());
    if (name_of_) measurement_.names[value.at()] = name_of_(tensor);
  }
}

void Step::before_overwrite(ValueId value, const at::Tensor& tensor, bool to_copy) {
  if (to_copy) {
    held_.replace_by_copy(value, clone_storage(tensor.storage()));
  } else if (held_.holds(value)) {
    held_.drop(value);
  }
}

void Step::value_made(ValueId value, const at::Tensor& tensor, bool pinned) {
  held_.grow(value.at() + 1);
  const auto& storage = tensor.storage();
  if (measuring_) {
    measurement_.grow(value.at() + 1);
    measurement_.bytes[value.at()] = meter_.give_to(storage.data(), value, static_cast<int64_t>(storage.nbytes()));
  }
  if (pinned || (planned_ && held_.wanted(value))) {
    held_.hold(value, storage);
    held_.watch(value, tensor);
  }
}

// ---- saved tensors

std::unique_ptr<torch::autograd::SavedVariableHooks> Step::make_hooks() {
  if (phase_ != Phase::forward || failure_ || finished_ || !recorder_) return nullptr;
  return std::make_unique<Handle>(shared_from_this());
}

void Step::pack(Handle& handle, const at::Tensor& tensor) {
  // Inside an op its results are not known yet, and what it writes to has two
  // versions: which one was saved is settled when it ends. (An op that saves
  // its own in-place result packs it before the call is over.)
  if (in_op_ && (!recorder_->value_of(tensor).valid() || recorder_->being_written(tensor))) {
    unresolved_.push_back(&handle);
    return;
  }
  const std::size_t ops = recorder_->op_count();
  resolve(handle, OpId(in_op_ ? ops : std::max<std::size_t>(ops, 1) - 1));
}

void Step::resolve(Handle& handle, OpId op) {
  const ValueId value = recorder_->value_of(handle.geometry.view(handle.storage));
  if (!value.valid() || !recorder_->tape().values[value.at()].maker.valid()) return;  // kept: an external
  handle.storage = {};
  handle.value = value;
  handle.saved = SavedId(saved_.size());
  if (planned_) {
    const auto& expected = known_->trace->saved;
    const bool same =
        saved_.size() < expected.size() && expected[saved_.size()].value == value && expected[saved_.size()].op == op;
    if (!same) leave_known_step(recorder_->op_count());
  }
  saved_.push_back({value, op});
  saved_alive_.push_back(1);
  held_.add_handle(value);
  ++handles_;
}

at::Tensor Step::unpack(Handle& handle) {
  if (phase_ == Phase::forward) backward_begins();
  note_event(BackwardEvent::Kind::unpack, handle.saved);
  if (!held_.holds(handle.value)) bring_back(handle.value);
  return handle.geometry.view(held_.storage(handle.value));
}

void Step::released(Handle& handle) noexcept {
  if (!handle.value.valid()) {
    std::replace(unresolved_.begin(), unresolved_.end(), &handle, static_cast<Handle*>(nullptr));
    return;
  }
  if (phase_ != Phase::forward) {
    note_event(BackwardEvent::Kind::release, handle.saved);
    held_.count_release(handle.value);
  }
  saved_alive_[handle.saved.at()] = 0;
  held_.remove_handle(handle.value);
  if (held_.handles(handle.value) == 0 && schedule_ == nullptr && phase_ != Phase::forward) held_.drop(handle.value);
  --handles_;
}

// ---- backward

void Step::note_event(BackwardEvent::Kind kind, SavedId saved) {
  if (!measuring_) return;
  const int64_t gap = meter_.take_base_peak();
  auto& before =
      measurement_.backward.empty() ? measurement_.ops.back().gap_bytes : measurement_.backward.back().gap_bytes;
  before = std::max(before, gap);
  measurement_.backward.push_back({kind, saved, meter_.base(), meter_.base()});
}

void Step::backward_begins() {
  if (phase_ != Phase::forward) return;
  if (!recorder_ || recorder_->op_count() == 0) return;
  if (observer_ != nullptr) observer_->stop();
  backward_started_ = Clock::now();
  measurement_.forward_seconds = std::chrono::duration<double>(backward_started_ - forward_started_).count();
  if (planned_ &&
      (recorder_->op_count() != known_->trace->ops.size() || saved_.size() != known_->trace->saved.size())) {
    leave_known_step(recorder_->op_count());  // it was shorter than the known step
  }
  phase_ = Phase::backward;
  backward_ran_ = true;
  if (planned_) {
    adopt_schedule(known_->schedule);
  } else {
    plan_now();
  }
  note_event(BackwardEvent::Kind::begin, {});
}

void Step::plan_now() {
  const auto started = Clock::now();
  measurement_.saved = saved_;
  measurement_.saved_alive = saved_alive_;
  measurement_.grow(recorder_->value_count());
  auto measured = measurement_;
  if (!measured.ops.empty()) measured.ops.back().gap_bytes = meter_.base();
  try {
    const Trace trace = assemble(recorder_->tape(), measured);
    const Plan plan = resume_plan(trace, advice_.plan_first(trace), held_.tracked());
    own_schedule_ = compile_schedule(trace, plan);
    predicted_peak_ = plan.predicted_peak_bytes;
    adopt_schedule(own_schedule_);
  } catch (const Error&) {
    // No plan: every value is brought back when it is asked for.
    schedule_ = nullptr;
  }
  plan_seconds_ += std::chrono::duration<double>(Clock::now() - started).count();
}

void Step::adopt_schedule(const Schedule& schedule) {
  schedule_ = &schedule;
  next_run_ = 0;
  for (std::size_t i = 0; i < schedule.keep.size(); ++i) {
    held_.set_releases(schedule.keep[i], schedule.keep_releases[i]);
  }
}

void Step::backward_ends() noexcept {}

void Step::finish() {
  if (finished_) return;
  finished_ = true;
  observer_ = nullptr;
  if (phase_ == Phase::backward) {
    measurement_.backward_seconds =
        std::chrono::duration<double>(Clock::now() - backward_started_).count() - recompute_seconds_ - plan_seconds_;
    note_event(BackwardEvent::Kind::end, {});
    phase_ = Phase::over;
  }
  if (measuring_) {
    meter_.close_ledger();
    measuring_ = false;
  }
}

Trace Step::assemble_trace() const {
  invariant(complete() && was_measured_, "a step that was not measured to its end has no trace");
  auto measured = measurement_;
  measured.saved = saved_;
  measured.grow(recorder_->value_count());
  if (planned_) {  // what the plan holds hides when the user let go of it
    const auto& values = known_->trace->values;
    for (std::size_t v = 0; v < values.size(); ++v) measured.dies[v] = values[v].dies;
  }
  return assemble(*recorder_->share_tape(), measured);
}

}  // namespace reforward
