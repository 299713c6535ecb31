// What would a step cost at each budget? Needs a trace's file and no LibTorch.
#include <reforward/budget.h>
#include <reforward/error.h>
#include <reforward/json.h>
#include <reforward/planner.h>

#include <iostream>

int main(int count, char** arguments) try {
  if (count != 2) throw reforward::InputError("Give one file that `reforward trace -o` has written.");
  const auto trace = reforward::read_trace(arguments[1]);
  const auto plain = reforward::plan_keep(trace).predicted_peak_bytes;
  const auto least = reforward::plan_minimal(trace).predicted_peak_bytes;
  for (const char* text : {"100%", "75%", "50%", "min"}) {
    const auto budget = reforward::resolve(reforward::parse_budget(text), plain, least);
    if (budget < least) continue;
    const auto plan = reforward::plan_budget(trace, {.budget_bytes = budget});
    std::cout << text << ": peak " << reforward::format_bytes(plan.predicted_peak_bytes) << ", recomputes for "
              << plan.recompute_seconds << " s\n";
  }
} catch (const reforward::Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
