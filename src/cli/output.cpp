#include "cli/output.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "reforward/budget.h"

namespace reforward::cli {

void show(const Common& common, const Json& json, const std::string& text) {
  if (common.json) {
    std::printf("%s\n", json.dump(2).c_str());
  } else if (!common.quiet) {
    std::fputs(text.c_str(), stdout);
  }
  std::fflush(stdout);
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      line += c == 0 ? row[c] + padding : "  " + padding + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string fixed(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

std::string percent(double part, double whole) { return whole == 0 ? "-" : fixed(100 * part / whole, 1) + " %"; }

void describe(const Trace& trace, Json& json) {
  json["model"] = trace.model;
  json["batch"] = trace.batch;
  json["image"] = trace.image;
  json["static_bytes"] = trace.static_bytes;
  json["gradient_bytes"] = trace.gradient_bytes;
  json["ops"] = trace.ops.size();
  std::set<ValueId> saved;
  for (const Saved& entry : trace.saved) saved.insert(entry.value);
  json["saved_values"] = saved.size();
  json["pinned_ops"] = std::count_if(trace.ops.begin(), trace.ops.end(), [](const Op& op) { return op.pinned; });
}

void describe(const Trace& trace, const Plan& plan, Json& json) {
  std::set<ValueId> saved, kept;
  for (const Saved& entry : trace.saved) saved.insert(entry.value);
  for (const ValueId value : plan.keep) {
    if (saved.count(value) != 0) kept.insert(value);
  }
  json["solver"] = plan.solver;
  json["kept_values"] = kept.size();
  json["dropped_values"] = saved.size() - kept.size();
  json["recompute_seconds"] = plan.recompute_seconds;
}

std::string pinned_text(const Trace& trace) {
  std::map<std::string, std::pair<int, std::string>> pinned;
  for (const Op& op : trace.ops) {
    if (!op.pinned) continue;
    auto& [count, reason] = pinned[op.name];
    ++count;
    reason = op.pinned_reason;
  }
  std::string text;
  for (const auto& [name, why] : pinned) {
    text += "  kept because it cannot be replayed: " + name + " (" + std::to_string(why.first) + " x, " + why.second +
            ")\n";
  }
  return text;
}

int64_t activations(const Trace& trace, int64_t peak_bytes) {
  return peak_bytes - trace.static_bytes - trace.gradient_bytes;
}

}  // namespace reforward::cli
