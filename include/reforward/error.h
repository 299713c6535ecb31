#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace reforward {

/// Base of everything this library throws on purpose. `what()` is one sentence:
/// what was wrong, what was expected, what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument or an input file cannot be used.
class InputError : public Error {
 public:
  using Error::Error;
};

/// A trace or plan file is damaged, foreign, of another version, or does not
/// belong to the trace it is used with.
class FormatError : public Error {
 public:
  using Error::Error;
};

/// No plan fits the budget.
class BudgetError : public Error {
 public:
  BudgetError(const std::string& sentence, int64_t least) : Error(sentence), least_bytes(least) {}
  int64_t least_bytes;  ///< a budget of this many bytes can be met
};

/// A step could not be recorded, or its saved values could not be brought back.
class TraceError : public Error {
 public:
  using Error::Error;
};

/// An invariant that only a bug in reforward can break.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& what)
      : Error("internal error: " + what +
              "; this is a bug in reforward, please report it with the trace "
              "(reforward trace -o trace.json)") {}
};

/// Checked always, in release builds too; meant for cheap conditions.
inline void invariant(bool holds, const char* what) {
  if (!holds) throw InternalError(what);
}

}  // namespace reforward
