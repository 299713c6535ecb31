#include "plan/graph/exact.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "plan/graph/components.h"

namespace reforward::graph {
namespace {

constexpr int32_t most_to_enumerate = 18;
constexpr int64_t work_of_search = 60'000'000;

/// Every set, in the order of the Gray code: one vertex at a time goes in or out.
Choice best_of_all(const Ordered& graph) {
  const int32_t inner = graph.size() - 2;
  Components components(graph, std::vector<char>(graph.cost.size(), 0));
  int64_t best = components.cost();
  std::vector<char> set = components.set();
  for (uint32_t i = 1; i < uint32_t{1} << inner; ++i) {
    components.toggle(1 + __builtin_ctz(i));
    if (components.cost() >= best) continue;
    best = components.cost();
    set = components.set();
  }
  return price(graph, std::move(set));
}

/// Simulated annealing: a vertex goes in or out, or a stored one makes way for one a
/// few edges away.
class Annealing {
 public:
  Annealing(const Ordered& graph, const Choice& start)
      : graph_(graph), components_(graph, start.stored), best_(start.stored), best_cost_(start.cost()) {}

  /// From the best set so far, from a temperature down to a twentieth of it: below that nothing moves.
  void run(double share, int64_t work, const std::function<bool()>& is_over) {
    return_to_best();
    const double hottest = share * static_cast<double>(best_cost_);
    const int64_t begin = components_.work();
    double temperature = hottest;
    for (int64_t moves = 0;; ++moves) {
      if (moves % 256 == 0) {
        const double done = static_cast<double>(components_.work() - begin) / static_cast<double>(work);
        if (done >= 1 || is_over()) return;
        temperature = hottest * std::pow(0.05, done);
      }
      move(temperature);
    }
  }

  std::vector<char> best() const { return best_; }
  int64_t best_cost() const { return best_cost_; }

 private:
  int32_t below(int32_t count) { return static_cast<int32_t>(random_() % static_cast<uint64_t>(count)); }
  int32_t any() { return 1 + below(graph_.size() - 2); }

  /// A few random edges away, either way.
  int32_t near(int32_t p) {
    for (int32_t steps = 1 + below(4); steps > 0; --steps) {
      const auto& before = graph_.before[p];
      const auto& after = graph_.after[p];
      const auto pick = static_cast<std::size_t>(below(static_cast<int32_t>(before.size() + after.size())));
      p = pick < before.size() ? before[pick] : after[pick - before.size()];
    }
    return p;
  }

  void move(double temperature) {
    const int64_t before = components_.cost();
    const int32_t a = any();
    int32_t b = a;
    if (below(2) == 0) {
      b = near(a);
      if (!graph_.inner(b) || components_.stored(a) == components_.stored(b)) return;
    }
    components_.toggle(a);
    if (b != a) components_.toggle(b);
    const int64_t cost = components_.cost();
    if (cost < best_cost_) {
      best_cost_ = cost;
      best_ = components_.set();
    }
    const auto rise = static_cast<double>(cost - before);
    if (rise <= 0 || uniform() < std::exp(-rise / temperature)) return;
    if (b != a) components_.toggle(b);
    components_.toggle(a);
  }

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  void return_to_best() {
    for (int32_t p = 1; p + 1 < graph_.size(); ++p) {
      if (components_.stored(p) != (best_[p] != 0)) components_.toggle(p);
    }
  }

  const Ordered& graph_;
  Components components_;
  std::vector<char> best_;
  int64_t best_cost_;
  std::mt19937_64 random_{1};
};

}  // namespace

Best exact_choice(const Ordered& graph, Choice start, int64_t known_bound, std::optional<double> seconds) {
  if (start.cost() == known_bound) return {std::move(start), known_bound};
  if (graph.size() - 2 <= most_to_enumerate) {
    Choice best = best_of_all(graph);
    const int64_t cost = best.cost();
    return {std::move(best), cost};
  }
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Annealing annealing(graph, start);
  const auto is_over = [&] {
    if (annealing.best_cost() <= known_bound) return true;
    return seconds && std::chrono::duration<double>(Clock::now() - begin).count() >= *seconds;
  };
  // Hot enough to leave the valley of `cuts`, then around the best that was found. Tried on
  // the authors' graphs: colder starts stay in a valley, and hotter ones spend the work there.
  do {
    for (const double share : {0.01, 0.006}) annealing.run(share, work_of_search / 2, is_over);
  } while (seconds && !is_over());
  return {price(graph, annealing.best()), known_bound};
}

}  // namespace reforward::graph
