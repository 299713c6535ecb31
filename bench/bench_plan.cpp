#include <benchmark/benchmark.h>

#include "plan/assemble.h"
#include "plan/evaluator.h"
#include "plan/finish.h"
#include "plan/nets.h"
#include "reforward/planner.h"

// How long planning takes, and how good it is: `activations` is the peak without
// static bytes and gradients as a part of the plain step's, `forwards` the
// recompute time in forward passes.

namespace reforward {
namespace {

Trace make(int64_t which) {
  switch (which) {
    case 0:
      return made_up::resnet50(16, 224);
    case 1:
      return made_up::densenet121(16, 224);
    case 2:
      return made_up::inception_like(8, 299);
    case 3:
      return made_up::decoder(8, 256, 256, 24);
    default:
      return made_up::chain(static_cast<std::size_t>(which), 4'000'000);
  }
}

void report(benchmark::State& state, const Trace& trace, const Plan& plan) {
  const auto fixed = static_cast<double>(trace.static_bytes + trace.gradient_bytes);
  const auto plain = static_cast<double>(plan_keep(trace).predicted_peak_bytes);
  state.counters["ops"] = static_cast<double>(trace.ops.size());
  state.counters["activations"] = (static_cast<double>(plan.predicted_peak_bytes) - fixed) / (plain - fixed);
  state.counters["forwards"] = plan.recompute_seconds / trace.forward_seconds;
}

void minimal(benchmark::State& state) {
  const Trace trace = make(state.range(0));
  Plan plan;
  for (auto _ : state) plan = plan_minimal(trace);
  report(state, trace, plan);
}

void budget_of_half(benchmark::State& state) {
  const Trace trace = make(state.range(0));
  PlanOptions options;
  options.budget_bytes = plan_keep(trace).predicted_peak_bytes / 2;
  Plan plan;
  for (auto _ : state) plan = plan_budget(trace, options);
  report(state, trace, plan);
}

/// What a solver pays for each plan that it looks at.
void one_evaluation(benchmark::State& state) {
  const Trace trace = make(state.range(0));
  const TraceIndex index(trace);
  Assembler assembler(index);
  Evaluator evaluator(index);
  const Levels levels = drop_all(index);
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.cost(assembler.assemble(levels)));
}

void networks(benchmark::internal::Benchmark* bench) {
  bench->ArgName("net")->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
}

BENCHMARK(minimal)->Apply(networks)->Arg(1000)->Arg(10000);
BENCHMARK(budget_of_half)->Apply(networks);
BENCHMARK(one_evaluation)->DenseRange(0, 3)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace reforward

BENCHMARK_MAIN();
