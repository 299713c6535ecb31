#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "reforward/budget.h"
#include "reforward/error.h"

namespace reforward {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 10> units{{{"", 1},
                                      {"B", 1},
                                      {"KB", 1e3},
                                      {"MB", 1e6},
                                      {"GB", 1e9},
                                      {"TB", 1e12},
                                      {"KiB", 1024.0},
                                      {"MiB", 1024.0 * 1024},
                                      {"GiB", 1024.0 * 1024 * 1024},
                                      {"TiB", 1024.0 * 1024 * 1024 * 1024}}};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw InputError("The budget '" + std::string(text) + "' " + why +
                   "; give bytes such as 2GiB or 750MB, a share of the plain step's peak such as 60%, or min.");
}

}  // namespace

Budget parse_budget(std::string_view text) {
  if (text == "min") return {Budget::Kind::least, 0, 0};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) refuse(text, "does not begin with a number");
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (number <= 0) refuse(text, "is not more than zero");
  if (unit == "%") {
    if (number > 100) refuse(text, "is more than the plain step needs");
    return {Budget::Kind::fraction, 0, number / 100};
  }
  for (const Unit& known : units) {
    if (unit != known.name) continue;
    const double bytes = number * known.bytes;
    if (bytes < 1) refuse(text, "is less than a byte");
    if (bytes >= 9.2e18) refuse(text, "is more bytes than can be counted");
    return {Budget::Kind::bytes, static_cast<int64_t>(bytes), 0};
  }
  refuse(text, "has a unit that is not known");
}

std::string to_string(const Budget& budget) {
  switch (budget.kind) {
    case Budget::Kind::bytes:
      return std::to_string(budget.bytes);
    case Budget::Kind::least:
      return "min";
    case Budget::Kind::fraction:
      break;
  }
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), budget.fraction * 100).ptr;
  return std::string(text.data(), end) + "%";
}

int64_t resolve(const Budget& budget, int64_t plain_peak_bytes, int64_t least_peak_bytes) {
  switch (budget.kind) {
    case Budget::Kind::bytes:
      return budget.bytes;
    case Budget::Kind::least:
      return least_peak_bytes;
    case Budget::Kind::fraction:
      break;
  }
  if (budget.fraction >= 1) return plain_peak_bytes;
  return static_cast<int64_t>(std::floor(budget.fraction * static_cast<double>(plain_peak_bytes)));
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> names{"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(amount) >= 1024 && unit + 1 < names.size()) {
    amount /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", amount, names[unit]);
  return text.data();
}

}  // namespace reforward
