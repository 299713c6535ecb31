#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace reforward::graph {

/// What the least stored cost is under a bound on the local term, and the local term
/// of the set that has it.
struct Probe {
  int64_t stored_cost = 0;
  int64_t local_cost = 0;
};

/// Finds the least L + f(L), where f(L), the least stored cost with a local term of at
/// most L, does not increase with L: what the paper does for every candidate of L,
/// without those that cannot win. `probe(L, limit)` returns f(L), or nothing if that is
/// `limit` or more; it keeps the set where L + f(L) is the best so far. Every L between
/// the next one tried and this one costs at least L + f(this one), which is no better.
/// `best` is the cost to beat; costs are multiples of `unit`. Returns whether all was
/// looked at within `most_probes`.
template <class Prober>
bool search_local_terms(int64_t& best, int64_t unit, int64_t most_probes, Prober probe) {
  int64_t local = best - unit;
  while (local >= 0) {
    if (most_probes-- == 0) return false;
    const std::optional<Probe> found = probe(local, best);
    if (!found) return true;
    best = std::min(best, found->stored_cost + found->local_cost);
    local = std::min(best - found->stored_cost, local) - unit;
  }
  return true;
}

}  // namespace reforward::graph
