#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "reforward/plan.h"
#include "reforward/trace.h"

namespace reforward::cli {

/// Prints a result: the JSON object, or text for people (nothing if quiet).
void show(const Common& common, const Json& json, const std::string& text);

/// Columns aligned by their widest entry: the first to the left, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// `12.3 %` of a whole; `1.234` with so many digits.
std::string percent(double part, double whole);
std::string fixed(double number, int digits);

/// What is said of every trace: its sizes, its pinned ops.
void describe(const Trace& trace, Json& json);
/// What is said of a plan: what is kept and dropped of the saved values.
void describe(const Trace& trace, const Plan& plan, Json& json);
/// "3 ops cannot be replayed and are kept: ..."; empty if there are none.
std::string pinned_text(const Trace& trace);

/// A share of a peak that is activations: without static bytes and gradients.
int64_t activations(const Trace& trace, int64_t peak_bytes);

}  // namespace reforward::cli
