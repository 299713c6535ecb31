#include "plan/nest.h"

#include <algorithm>
#include <limits>

#include "reforward/error.h"

namespace reforward {
namespace {
constexpr float no_way = std::numeric_limits<float>::infinity();
}

NestSearch::NestSearch(const Segments& segments, int64_t origin, int64_t most_bytes, std::size_t steps)
    : segments_(segments), origin_(origin), steps_(steps) {
  const auto parts = static_cast<int64_t>(steps * fine);
  fine_unit_ = std::max<int64_t>(1, (most_bytes - origin + parts - 1) / parts);
  unit_ = fine_unit_ * static_cast<int64_t>(fine);
  const std::size_t cuts = segments.count();
  stretch_.assign(cuts * (cuts - 1) / 2 * (steps + 1), no_way);
  step_.assign(cuts * amounts(), no_way);
  for (std::size_t b = 1; b < cuts; ++b) {
    for (std::size_t a = b; a-- > 0;) fill_stretch(a, b);
  }
  std::fill(step_.begin() + static_cast<std::ptrdiff_t>((cuts - 1) * amounts()), step_.end(), 0.0F);
  for (std::size_t a = cuts - 1; a-- > 0;) fill_step(a);
}

/// The least amount in which `peak` fits; may be more than there are.
std::size_t NestSearch::amount_of(int64_t peak, int64_t unit) const {
  if (peak <= origin_) return 0;
  return static_cast<std::size_t>((peak - origin_ + unit - 1) / unit);
}

std::size_t NestSearch::held(int64_t bytes, int64_t unit) {
  return static_cast<std::size_t>((bytes + unit / 2) / unit);
}

void NestSearch::fill_stretch(std::size_t a, std::size_t b) {
  float* best = &stretch_[row(a, b)];
  const auto& whole = segments_(a, b);
  for (std::size_t m = amount_of(whole.way[0].peak, unit_); m <= steps_; ++m) best[m] = whole.way[0].seconds;
  for (std::size_t k = a + 1; k < b; ++k) {
    const auto& left = segments_(a, k);
    const std::size_t gone = held(left.frontier_bytes, unit_);
    const std::size_t from = std::max(gone, amount_of(segments_.arrival_bytes(b) + left.outer_peak, unit_));
    if (from > steps_) continue;
    const float outer = left.outer_seconds;
    const float* inner_left = &stretch_[row(a, k)];
    const float* inner_right = &stretch_[row(k, b)];
    for (std::size_t m = from; m <= steps_; ++m)
      best[m] = std::min(best[m], outer + inner_left[m] + inner_right[m - gone]);
  }
}

/// T(a, b, m) for m in fine steps.
float NestSearch::again(std::size_t a, std::size_t b, std::size_t amount) const {
  const auto& flat = segments_(a, b).way[0];
  return std::min(amount >= amount_of(flat.peak, fine_unit_) ? flat.seconds : no_way,
                  stretch_[row(a, b) + amount / fine]);
}

void NestSearch::fill_step(std::size_t a) {
  float* best = &step_[a * amounts()];
  for (std::size_t b = a + 1; b < segments_.count(); ++b) {
    const auto& stretch = segments_(a, b);
    const float* rest = &step_[b * amounts()];
    const std::size_t gone = held(stretch.frontier_bytes, fine_unit_);
    for (std::size_t m = gone; m < amounts(); ++m) best[m] = std::min(best[m], again(a, b, m) + rest[m - gone]);
    for (std::size_t w = 1; w < Segments::ways; ++w) {
      const auto& way = stretch.way[w];
      const std::size_t all = held(stretch.frontier_bytes + way.keep_bytes, fine_unit_);
      for (std::size_t m = std::max(all, amount_of(way.peak, fine_unit_)); m < amounts(); ++m) {
        best[m] = std::min(best[m], way.seconds + rest[m - all]);
      }
    }
  }
}

/// The part of the best choice that begins at cut `a`: takes it off `amount`
/// and returns the cut at which it ends.
std::size_t NestSearch::take_part(std::size_t a, std::size_t& amount, Nest& nest) const {
  const float goal = step_[a * amounts() + amount];
  for (std::size_t b = a + 1; b < segments_.count(); ++b) {
    const auto& stretch = segments_(a, b);
    const float* rest = &step_[b * amounts()];
    for (std::size_t w = Segments::ways - 1; w > 0; --w) {
      const auto& way = stretch.way[w];
      const std::size_t all = held(stretch.frontier_bytes + way.keep_bytes, fine_unit_);
      if (amount < std::max(all, amount_of(way.peak, fine_unit_)) || way.seconds + rest[amount - all] != goal) continue;
      nest.parts.push_back({segments_.op_at(a), segments_.op_at(b), w});
      amount -= all;
      return b;
    }
    const std::size_t gone = held(stretch.frontier_bytes, fine_unit_);
    if (amount < gone || again(a, b, amount) + rest[amount - gone] != goal) continue;
    if (again(a, b, amount) != stretch.way[0].seconds) trace_stretch(a, b, amount / fine, 1, nest);
    amount -= gone;
    return b;
  }
  throw InternalError("the dynamic programme cannot find its own choice");
}

Nest NestSearch::best(std::size_t amount) const {
  Nest nest;
  for (std::size_t a = 0; a + 1 < segments_.count();) {
    a = take_part(a, amount, nest);
    if (a + 1 < segments_.count()) nest.cuts.push_back({segments_.op_at(a), 0});
  }
  std::sort(nest.cuts.begin(), nest.cuts.end(), [](const ChosenCut& x, const ChosenCut& y) { return x.op < y.op; });
  return nest;
}

/// The right part is met first, with the outer re-forward just over: its own
/// cuts are made by the same run. The left part comes later and starts anew, one deeper.
void NestSearch::trace_stretch(std::size_t a, std::size_t b, std::size_t amount, uint8_t depth, Nest& nest) const {
  const float goal = stretch_[row(a, b) + amount];
  const auto& whole = segments_(a, b);
  if (amount >= amount_of(whole.way[0].peak, unit_) && whole.way[0].seconds == goal) return;
  for (std::size_t k = a + 1; k < b; ++k) {
    const auto& left = segments_(a, k);
    const std::size_t gone = held(left.frontier_bytes, unit_);
    if (amount < std::max(gone, amount_of(segments_.arrival_bytes(b) + left.outer_peak, unit_))) continue;
    const float sum = left.outer_seconds + stretch_[row(a, k) + amount] + stretch_[row(k, b) + amount - gone];
    if (sum != goal) continue;
    nest.cuts.push_back({segments_.op_at(k), depth});
    trace_stretch(k, b, amount - gone, depth, nest);
    trace_stretch(a, k, amount, static_cast<uint8_t>(std::min<int>(depth + 1, leaf - 1)), nest);
    return;
  }
  throw InternalError("the dynamic programme cannot find its own choice");
}

}  // namespace reforward
