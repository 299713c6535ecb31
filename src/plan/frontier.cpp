#include "plan/frontier.h"

#include <algorithm>
#include <numeric>

#include "plan/cuts.h"
#include "plan/evaluator.h"
#include "plan/nest.h"
#include "plan/polish.h"
#include "plan/segments.h"

namespace reforward {
namespace {

/// Re-forwards of more than this many forward passes in all are not worth their bytes.
constexpr double most_forwards = 2.5;

class Search {
 public:
  explicit Search(const TraceIndex& index) : index_(index), assembler_(index), evaluator_(index) {
    const auto& ops = index.trace.ops;
    most_seconds_ = most_forwards * std::accumulate(ops.begin(), ops.end(), 0.0,
                                                    [](double sum, const Op& op) { return sum + op.seconds; });
  }

  Cost cost_of(const Levels& levels) { return evaluator_.cost(assembler_.assemble(levels)); }

  void add(const Levels& levels) { found_.push_back({levels, cost_of(levels)}); }

  /// The best nests for `count` amounts of memory up to a peak.
  void add_nests(const Segments& segments, int64_t origin, int64_t most, std::size_t count) {
    constexpr std::size_t steps = 256;
    const NestSearch search(segments, origin, most, steps);
    const std::size_t stride = (search.amounts() + count - 1) / count;
    float before = -1;
    for (std::size_t amount = search.amounts() - 1; amount < search.amounts(); amount -= stride) {
      const float seconds = search.seconds(amount);
      if (seconds > static_cast<float>(most_seconds_)) break;
      if (seconds != before) add(levels_of(segments, search.best(amount)));
      before = seconds;
    }
  }

  /// Lowers the least peak.
  void lower_peaks(std::size_t evaluations) {
    Polisher polisher(index_, assembler_, evaluator_);
    // From more than one start: what is lowest before need not be lowest after.
    const auto starts = frontier();
    for (const std::size_t part : {0, 1, 2, 4}) {
      FrontierPlan plan = starts[(starts.size() - 1) * part / 8];
      polisher.polish(plan.levels, plan.cost, Polisher::Goal::lower_peak,
                      {plan.cost.peak_bytes, most_seconds_, evaluations / 8});
      found_.push_back(std::move(plan));
    }
  }

  /// Polishes the fastest plan for each of some peaks, from the least to
  /// everything kept, closer together where memory is short.
  void polish_times(std::size_t evaluations) {
    Polisher polisher(index_, assembler_, evaluator_);
    const int64_t least = frontier().front().cost.peak_bytes;
    const int64_t plain = found_.back().cost.peak_bytes;
    constexpr std::size_t peaks = 32;
    for (std::size_t i = 0; i < peaks && evaluations > 0; ++i) {
      const double part = static_cast<double>(i * i) / static_cast<double>(peaks * peaks);
      const int64_t most = least + static_cast<int64_t>(static_cast<double>(plain - least) * part);
      const auto& so_far = frontier();
      const auto above = std::find_if(so_far.begin(), so_far.end(),
                                      [&](const FrontierPlan& plan) { return plan.cost.peak_bytes > most; });
      FrontierPlan plan = *(above - 1);
      evaluations -= polisher.polish(plan.levels, plan.cost, Polisher::Goal::less_time,
                                     {most, most_seconds_, evaluations / (peaks - i)});
      found_.push_back(std::move(plan));
    }
  }

  /// Drops what is beaten; the rest is in order.
  const std::vector<FrontierPlan>& frontier() {
    std::stable_sort(found_.begin(), found_.end(), [](const FrontierPlan& a, const FrontierPlan& b) {
      if (a.cost.peak_bytes != b.cost.peak_bytes) return a.cost.peak_bytes < b.cost.peak_bytes;
      return a.cost.recompute_seconds < b.cost.recompute_seconds;
    });
    std::vector<FrontierPlan> best;
    for (FrontierPlan& plan : found_) {
      if (best.empty() || plan.cost.recompute_seconds < best.back().cost.recompute_seconds)
        best.push_back(std::move(plan));
    }
    found_ = std::move(best);
    return found_;
  }

 private:
  Levels levels_of(const Segments& segments, const Nest& nest) const {
    Levels levels = reforward::levels_of(index_, nest.cuts);
    for (const Nest::Part& part : nest.parts) {
      for (std::size_t i = part.from; i < part.to; ++i) {
        for (const ValueId value : index_.trace.ops[i].outputs) {
          if (segments.keeps(part.way, value)) levels[value.at()] = 0;
        }
      }
    }
    return levels;
  }

  const TraceIndex& index_;
  Assembler assembler_;
  Evaluator evaluator_;
  double most_seconds_ = 0;
  std::vector<FrontierPlan> found_;
};

std::size_t evaluations_for(const TraceIndex& index) {
  const std::size_t ops = std::max<std::size_t>(index.trace.ops.size(), 1);
  return std::clamp<std::size_t>(2'000'000 / ops, 200, 12'000);
}

/// Everything but the polishing of times: what finds the least peak.
void search_peaks(Search& search, const TraceIndex& index) {
  const std::size_t ops = std::max<std::size_t>(index.trace.ops.size(), 1);
  const std::size_t plans = std::clamp<std::size_t>(400'000 / ops, 64, 1025);
  const std::size_t most_cuts = ops <= 2000 ? 96 : 64;
  search.add(Levels(index.trace.values.size(), 0));
  search.add(drop_all(index));
  const int64_t plain = search.frontier().back().cost.peak_bytes;
  const int64_t floor = *std::max_element(index.bare_peak.begin(), index.bare_peak.end());
  const int64_t origin = *std::min_element(index.bare_live.begin(), index.bare_live.end());
  for (std::size_t segments = 2; segments <= 32; ++segments) search.add(equal_segments(index, segments));
  const Segments segments(index, thin_out(index, possible_cuts(index), most_cuts));
  search.add_nests(segments, origin, plain, plans);
  // Once more near the least peak, where steps of memory must be fine.
  const int64_t least = search.frontier().front().cost.peak_bytes;
  search.add_nests(segments, origin, least + (least - floor) / 2, plans / 4);
  search.lower_peaks(evaluations_for(index));
}

/// The trace with times that depend on its bytes alone.
Trace without_clock(const Trace& trace) {
  Trace steady = trace;
  for (Op& op : steady.ops) {
    int64_t bytes = op.peak_bytes + 1;
    for (const ValueId input : op.inputs) bytes += trace.values[input.at()].bytes;
    op.seconds = 1e-10 * static_cast<double>(bytes);
  }
  return steady;
}

/// The plan with the least peak of a search that sees no measured time.
FrontierPlan steady_least(const TraceIndex& index) {
  const Trace steady = without_clock(index.trace);
  const TraceIndex steady_index(steady);
  Search search(steady_index);
  search_peaks(search, steady_index);
  return search.frontier().front();
}

}  // namespace

std::vector<FrontierPlan> find_frontier(const TraceIndex& index) {
  const FrontierPlan least = steady_least(index);
  Search search(index);
  search.add(least.levels);
  search_peaks(search, index);
  search.polish_times(evaluations_for(index) / 2);
  auto plans = search.frontier();
  // Luck with the times can lead a little lower. It would be another number each
  // time the step is traced, and a budget that was met once must be met again.
  const auto first = std::find_if(plans.begin(), plans.end(), [&](const FrontierPlan& plan) {
    return plan.cost.peak_bytes >= least.cost.peak_bytes;
  });
  plans.erase(plans.begin(), first);
  if (plans.empty() || plans.front().cost.peak_bytes > least.cost.peak_bytes) {
    plans.insert(plans.begin(), {least.levels, Search(index).cost_of(least.levels)});
  }
  return plans;
}

}  // namespace reforward
