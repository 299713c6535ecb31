#pragma once

#include <cstdint>
#include <vector>

#include "plan/graph/ordered.h"

namespace reforward::graph {

/// A part of a graph between two vertices through which everything else reaches it: a
/// "closed set" of Feng and Huang (section 3.2), and how it divides further.
struct Division {
  enum class Kind : uint8_t {
    edge,         ///< nothing lies between source and target
    linear,       ///< vertices through which every path goes: parts one after another
    branched,     ///< parts side by side, from the same source to the same target
    complicated,  ///< neither: divided into its largest independent parts
  };
  Kind kind = Kind::edge;
  int32_t source = 0, target = 0;
  int64_t cost = 0;              ///< of what lies between
  std::vector<int32_t> between;  ///< vertices that part its parts, ascending: linear, complicated
  std::vector<int32_t> parts;    ///< linear: in their order
};

/// The division tree: the whole graph is first, and every part comes after what it is a
/// part of. Takes time of the order of vertices times edges in complicated parts.
std::vector<Division> divide(const Ordered& graph);

}  // namespace reforward::graph
