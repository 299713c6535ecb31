#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>

#include "reforward/reforward.h"
#include "run/compare.h"
#include "run/nets.h"

namespace reforward::testing {

inline Session make_session(const std::string& budget, const std::string& solver = "budget") {
  return Session({.budget = parse_budget(budget), .solver = solver});
}

/// One step of `net` on `batch`, plain and in the session from the same state.
inline StepReport expect_equal_step(Net& net, Session& session, const torch::Tensor& batch,
                                    int64_t* plain_peak = nullptr) {
  State before(*net.module);
  std::string loss_bytes;
  reset_memory_peak();
  {
    auto loss = net.loss(batch);
    loss.backward();
    loss_bytes = bytes_of(loss);
  }
  if (plain_peak != nullptr) *plain_peak = memory_use().peak_bytes;
  const Left plain = what_is_left(*net.module, loss_bytes);
  before.restore();
  int calls = 0;
  const auto report = session.step([&] {
    ++calls;
    auto loss = net.loss(batch);
    loss.backward();
    loss_bytes = bytes_of(loss);
  });
  EXPECT_EQ(calls, 1);
  const Left planned = what_is_left(*net.module, loss_bytes);
  EXPECT_EQ(plain.parts.size(), planned.parts.size());
  for (std::size_t i = 0; i < plain.parts.size(); ++i) {
    EXPECT_TRUE(plain.parts[i] == planned.parts[i]) << net.name << ": part " << i << " differs";
  }
  return report;
}

}  // namespace reforward::testing
