#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reforward::cli {

/// A row of the table of Feng and Huang, "Optimal Gradient Checkpoint Search for
/// Arbitrary Computation Graphs" (CVPR 2021; arXiv 1808.00079), on their GPU:
/// peak of the intermediate tensors, weights excluded.
struct PaperRow {
  std::string network;  ///< as they call it
  std::string model;    ///< as our registry does
  int64_t batch = 0;
  int64_t image = 0;                        ///< pixels a side
  int64_t plain_mb = 0;                     ///< without their method
  int64_t memory_mb = 0;                    ///< with it
  int64_t cut_percent = 0;                  ///< of plain_mb
  std::optional<int64_t> overhead_percent;  ///< of the time of a step, where they give it
};

/// All eighteen, in their order.
const std::vector<PaperRow>& paper_table();

}  // namespace reforward::cli
