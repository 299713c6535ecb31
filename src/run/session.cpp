#include "reforward/session.h"

#include <c10/util/flat_hash_map.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_set>

#include "reforward/error.h"
#include "reforward/planner.h"
#include "reforward/simulate.h"
#include "run/known_steps.h"
#include "run/step.h"
#include "trace/engine.h"
#include "trace/meter.h"
#include "trace/observer.h"

namespace reforward {

class Session::Impl {
 public:
  explicit Impl(const SessionOptions& options) : known_(options), meter_(MemoryMeter::current()) {
    meter_.watch(options.device);
  }

  StepReport step(const std::function<void()>& body);
  void count(const std::vector<at::Tensor>& tensors);
  void name(const std::vector<std::pair<std::string, at::Tensor>>& tensors);

  KnownSteps known_;

 private:
  StepReport report_of(const Step& step, double seconds);
  void learn_from(const Step& step, StepReport& report);

  MemoryMeter& meter_;
  std::unordered_set<const void*> counted_;
  ska::flat_hash_map<const void*, std::string> names_;
};

namespace {

/// One step at a time on a thread: an op belongs to one tape.
class OnlyStep {
 public:
  OnlyStep() {
    if (running_) {
      throw InputError(
          "A session's step was begun inside another session's step on the same thread; let the first one end, "
          "or train both networks in one step of one session.");
    }
    running_ = true;
  }
  ~OnlyStep() { running_ = false; }
  OnlyStep(const OnlyStep&) = delete;
  OnlyStep& operator=(const OnlyStep&) = delete;

 private:
  static thread_local bool running_;
};
thread_local bool OnlyStep::running_ = false;

}  // namespace

StepReport Session::Impl::step(const std::function<void()>& body) {
  const OnlyStep only_step;
  const auto started = std::chrono::steady_clock::now();
  meter_.reset_peak();
  known_.begin_step(meter_.live());
  StepAdvice advice;
  advice.choose = [this](const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
    return known_.choose(op, inputs);
  };
  advice.plan_first = [](const Trace& estimated) { return plan_minimal(estimated); };
  const auto step = std::make_shared<Step>(advice, known_.options().device);
  step->name_externals([this](const at::Tensor& tensor) {
    const auto found = names_.find(tensor.storage().unsafeGetStorageImpl());
    return found == names_.end() ? std::string() : found->second;
  });
  {
    struct Finish {
      Step& step;
      ~Finish() { step.finish(); }
    } finish{*step};
    EngineHook engine(*step);
    Observer observer(*step);
    step->set_observer(&observer);
    body();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  StepReport report = report_of(*step, seconds);
  if (step->failure()) std::rethrow_exception(step->failure());
  learn_from(*step, report);
  known_.throw_if_out_of_budget();
  return report;
}

StepReport Session::Impl::report_of(const Step& step, double seconds) {
  StepReport report;
  report.measured_peak_bytes = meter_.peak();
  report.predicted_peak_bytes = step.predicted_peak_bytes();
  report.static_bytes = known_.static_bytes();
  report.gradient_bytes = std::max<int64_t>(0, meter_.live() - known_.static_bytes());
  report.seconds = seconds;
  report.recompute_seconds = step.recompute_seconds();
  report.plan_seconds = step.plan_seconds() + known_.take_plan_seconds();
  if (step.complete()) report.kind = step.planned() ? StepReport::Kind::planned : StepReport::Kind::first;
  if (step.planned()) {
    report.budget_bytes = step.known()->budget_bytes;
    report.predicted_peak_bytes = known_.predicted_peak(*step.known());
  }
  return report;
}

void Session::Impl::learn_from(const Step& step, StepReport& report) {
  if (!step.complete()) return;
  const auto trace_of = [&] {
    Trace trace = step.assemble_trace();
    trace.gradient_bytes = report.gradient_bytes;
    return trace;
  };
  if (!step.planned()) {
    known_.add(step.tape(), trace_of());
  } else if (step.measured()) {
    known_.replace(step.known(), trace_of());
  } else if (report.measured_peak_bytes != report.predicted_peak_bytes) {
    known_.measure_again(step.known());
  }
  report.plan_seconds += known_.take_plan_seconds();
}

void Session::Impl::count(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    if (!tensor.defined() || !tensor.has_storage()) continue;
    if (!counted_.insert(tensor.storage().unsafeGetStorageImpl()).second) continue;
    meter_.adopt(static_cast<int64_t>(tensor.storage().nbytes()));
  }
}

void Session::Impl::name(const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.defined() && tensor.has_storage()) names_[tensor.storage().unsafeGetStorageImpl()] = name;
  }
}

Session::Session(SessionOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Session::~Session() = default;

StepReport Session::step(const std::function<void()>& body) { return impl_->step(body); }
void Session::count(const std::vector<at::Tensor>& tensors) { impl_->count(tensors); }
void Session::name(const std::vector<std::pair<std::string, at::Tensor>>& tensors) { impl_->name(tensors); }

std::shared_ptr<const Trace> Session::trace() const {
  const auto known = impl_->known_.latest();
  return known ? known->trace : nullptr;
}

std::shared_ptr<const Plan> Session::plan() const {
  const auto known = impl_->known_.latest();
  return known ? known->plan : nullptr;
}

void Session::set_plan(const Plan& plan) { impl_->known_.set_plan(plan); }

void install_memory_meter() { MemoryMeter::current(); }

MemoryUse memory_use() {
  const auto& meter = MemoryMeter::current();
  return {meter.live(), meter.peak()};
}

void reset_memory_peak() { MemoryMeter::current().reset_peak(); }

}  // namespace reforward
