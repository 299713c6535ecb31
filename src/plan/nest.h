#pragma once

#include <cstdint>
#include <vector>

#include "plan/cuts.h"
#include "plan/segments.h"

namespace reforward {

/// Where to cut, at which depth, and what to keep between the cuts.
struct Nest {
  struct Part {
    std::size_t from, to;  ///< ops [from, to)
    std::size_t way;       ///< Segments::keeps
  };
  std::vector<ChosenCut> cuts;  ///< ascending
  std::vector<Part> parts;      ///< ascending; without those that keep nothing
};

/// Least recompute time of a whole step for every amount of memory at once.
///
/// Note [Dynamic programme over stretches]
/// After Beaumont, Eyraud-Dubois, Shilova 2019 ("Rotor"; Griewank & Walther's
/// revolve for unequal stages), on the cuts of an arbitrary graph instead of the
/// stages of a chain. With m bytes, backward through stretch (a, b) costs
///   T(a, b, m) = min of
///     way[0].seconds                                               if way[0].peak fits in m
///     outer_seconds(a, k) + T(k, b, m - frontier(a, k)) + T(a, k, m)   for a < k < b, if
///                                                                  the outer re-forward fits
/// and the step from cut a to the end, its forward being the user's,
///   S(a, m) = min over b of
///     T(a, b, m) + S(b, m - frontier(a, b))
///     way[w].seconds + S(b, m - frontier(a, b) - way[w].keep_bytes)  if way[w].peak fits in m
/// m counts in steps of a fixed size, finer ones for S, which has the longer sums;
/// held bytes are rounded to the nearest, so that the errors of a sum cancel.
class NestSearch {
 public:
  /// For peaks up to `most_bytes`. Amounts count from `origin`, which no moment
  /// of the step is below: it bounds what can be held, not only the peaks.
  NestSearch(const Segments& segments, int64_t origin, int64_t most_bytes, std::size_t steps);

  std::size_t amounts() const { return steps_ * fine + 1; }
  /// By amount: least seconds; infinite if there is no way.
  float seconds(std::size_t amount) const { return step_[amount]; }
  Nest best(std::size_t amount) const;

 private:
  static constexpr std::size_t fine = 4;

  std::size_t row(std::size_t a, std::size_t b) const { return (b * (b - 1) / 2 + a) * (steps_ + 1); }
  std::size_t amount_of(int64_t peak, int64_t unit) const;
  static std::size_t held(int64_t bytes, int64_t unit);
  float again(std::size_t a, std::size_t b, std::size_t amount) const;
  void fill_stretch(std::size_t a, std::size_t b);
  void fill_step(std::size_t a);
  std::size_t take_part(std::size_t a, std::size_t& amount, Nest& nest) const;
  void trace_stretch(std::size_t a, std::size_t b, std::size_t amount, uint8_t depth, Nest& nest) const;

  const Segments& segments_;
  int64_t origin_;
  std::size_t steps_;
  int64_t fine_unit_;
  int64_t unit_;
  std::vector<float> stretch_;  // T, by row and steps of unit_
  std::vector<float> step_;     // S, by cut and steps of fine_unit_
};

}  // namespace reforward
