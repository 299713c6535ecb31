#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reforward {

/// How much memory a step may use: the peak of all bytes that the device's
/// allocator holds during the step (parameters, gradients, optimizer state,
/// inputs and activations).
struct Budget {
  enum class Kind : uint8_t {
    bytes,     ///< `2GiB`, `750MB`, `1073741824`
    fraction,  ///< `60%` of the plain step's peak
    least,     ///< `min`: the least that any plan found can meet
  };
  Kind kind = Kind::fraction;
  int64_t bytes = 0;
  double fraction = 1.0;  ///< 0 < fraction <= 1
};

/// `2GiB`, `750MB`, `1.5 GB`, `123456`, `60%`, `min`. KB, MB, GB, TB are powers
/// of 1000, KiB, MiB, GiB, TiB of 1024; a bare number is bytes. Throws
/// InputError for anything else, zero, negative amounts and more than 100 %.
Budget parse_budget(std::string_view text);

/// The budget as text that parse_budget reads back.
std::string to_string(const Budget& budget);

/// Budget in bytes, given the plain step's peak and the least possible peak.
int64_t resolve(const Budget& budget, int64_t plain_peak_bytes, int64_t least_peak_bytes);

/// For people: `739.2 MiB`.
std::string format_bytes(int64_t bytes);

}  // namespace reforward
