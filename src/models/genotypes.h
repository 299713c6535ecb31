#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace reforward::models {

enum class Operation : uint8_t {
  avg_pool_3x3,
  max_pool_3x3,
  skip_connect,
  sep_conv_3x3,
  sep_conv_5x5,
  sep_conv_7x7,
  dil_conv_3x3,
  conv_7x1_1x7,
};

/// An operation on one of the cell's states: 0 is the output of the cell before the
/// last, 1 that of the last cell, 2 the first node's, and so on.
struct Edge {
  Operation operation;
  std::size_t from;
};

/// Each node is the sum of two edges and one state more; the cell's output is a
/// concatenation of states.
struct CellType {
  std::vector<std::array<Edge, 2>> nodes;
  std::vector<std::size_t> concat;
};

/// What a search found: the cell that is repeated, and the one that halves the image.
struct Genotype {
  CellType normal, reduce;
};

Genotype nasnet_genotype();
Genotype amoebanet_genotype();
Genotype darts_genotype();  ///< by the second-order search

}  // namespace reforward::models
