// As Liu et al., "DARTS: Differentiable Architecture Search" (2019), trained them.
// NASNet-A is by Zoph et al. (2018), AmoebaNet-A by Real et al. (2019).

#include "models/genotypes.h"

namespace reforward::models {

using enum Operation;

Genotype nasnet_genotype() {
  return {.normal = {.nodes = {{{{sep_conv_5x5, 1}, {sep_conv_3x3, 0}}},
                               {{{sep_conv_5x5, 0}, {sep_conv_3x3, 0}}},
                               {{{avg_pool_3x3, 1}, {skip_connect, 0}}},
                               {{{avg_pool_3x3, 0}, {avg_pool_3x3, 0}}},
                               {{{sep_conv_3x3, 1}, {skip_connect, 1}}}},
                     .concat = {2, 3, 4, 5, 6}},
          .reduce = {.nodes = {{{{sep_conv_5x5, 1}, {sep_conv_7x7, 0}}},
                               {{{max_pool_3x3, 1}, {sep_conv_7x7, 0}}},
                               {{{avg_pool_3x3, 1}, {sep_conv_5x5, 0}}},
                               {{{skip_connect, 3}, {avg_pool_3x3, 2}}},
                               {{{sep_conv_3x3, 2}, {max_pool_3x3, 1}}}},
                     .concat = {4, 5, 6}}};
}

Genotype amoebanet_genotype() {
  return {.normal = {.nodes = {{{{avg_pool_3x3, 0}, {max_pool_3x3, 1}}},
                               {{{sep_conv_3x3, 0}, {sep_conv_5x5, 2}}},
                               {{{sep_conv_3x3, 0}, {avg_pool_3x3, 3}}},
                               {{{sep_conv_3x3, 1}, {skip_connect, 1}}},
                               {{{skip_connect, 0}, {avg_pool_3x3, 1}}}},
                     .concat = {4, 5, 6}},
          .reduce = {.nodes = {{{{avg_pool_3x3, 0}, {sep_conv_3x3, 1}}},
                               {{{max_pool_3x3, 0}, {sep_conv_7x7, 2}}},
                               {{{sep_conv_7x7, 0}, {avg_pool_3x3, 1}}},
                               {{{max_pool_3x3, 0}, {max_pool_3x3, 1}}},
                               {{{conv_7x1_1x7, 0}, {sep_conv_3x3, 5}}}},
                     .concat = {3, 4, 6}}};
}

Genotype darts_genotype() {
  return {.normal = {.nodes = {{{{sep_conv_3x3, 0}, {sep_conv_3x3, 1}}},
                               {{{sep_conv_3x3, 0}, {sep_conv_3x3, 1}}},
                               {{{sep_conv_3x3, 1}, {skip_connect, 0}}},
                               {{{skip_connect, 0}, {dil_conv_3x3, 2}}}},
                     .concat = {2, 3, 4, 5}},
          .reduce = {.nodes = {{{{max_pool_3x3, 0}, {max_pool_3x3, 1}}},
                               {{{skip_connect, 2}, {max_pool_3x3, 1}}},
                               {{{max_pool_3x3, 0}, {skip_connect, 2}}},
                               {{{skip_connect, 2}, {max_pool_3x3, 1}}}},
                     .concat = {2, 3, 4, 5}}};
}

}  // namespace reforward::models
