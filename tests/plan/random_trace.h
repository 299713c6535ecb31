#pragma once

#include <cstdint>
#include <random>

#include "reforward/plan.h"
#include "reforward/trace.h"

namespace reforward::made_up {

using Random = std::mt19937_64;

/// A number from 0 to below - 1; the same on every machine, which the
/// distributions of the standard library are not.
inline std::size_t below(Random& random, std::size_t below) { return static_cast<std::size_t>(random() % below); }
inline bool chance(Random& random, unsigned percent) { return random() % 100 < percent; }

/// A valid trace of up to `most_ops` ops with everything that can occur:
/// in-place chains, writes to externals, ops with several outputs, empty
/// values, values that outlive forward or the step, entries saved twice, by
/// far-away ops, never unpacked or never released, pinned ops, and (sometimes)
/// backward nodes in any order.
Trace random_trace(Random& random, std::size_t most_ops);

/// The same without oddities: no pinned ops, no writes to externals, every
/// entry unpacked and released, backward in reverse order.
Trace random_plain_trace(Random& random, std::size_t ops);

/// Random levels for the assembler, so a plan that must be sound.
Plan random_sound_plan(Random& random, const Trace& trace);

/// Changes one thing; the result may be anything.
void damage(Random& random, const Trace& trace, Plan& plan);
void damage(Random& random, Trace& trace);

}  // namespace reforward::made_up
