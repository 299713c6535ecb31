#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "trace/assemble.h"
#include "trace/replay.h"
#include "trace/replay_check.h"

namespace reforward {
namespace {

TEST(BitsEqual, ComparesBitsNotNumbers) {
  const auto nan = torch::full({3}, std::nan(""));
  EXPECT_TRUE(bits_equal(nan, nan.clone()));
  EXPECT_FALSE(bits_equal(torch::zeros({2}), -torch::zeros({2}))) << "minus zero has another bit";
  EXPECT_FALSE(bits_equal(torch::zeros({2}), torch::zeros({2}, torch::kInt)));
  EXPECT_FALSE(bits_equal(torch::zeros({2, 3}), torch::zeros({3, 2})));
  const auto square = torch::randn({4, 4});
  EXPECT_FALSE(bits_equal(square, square.t().contiguous().t())) << "another layout";
  EXPECT_TRUE(bits_equal(square.t(), square.clone().t()));
}

TEST(CloneStorage, CopiesAllOfIt) {
  const auto x = torch::randn({10});
  const auto part = x.narrow(0, 5, 2);
  const auto copy = clone_storage(part.storage());
  EXPECT_EQ(copy.nbytes(), x.nbytes());
  EXPECT_NE(copy.data(), x.storage().data());
  EXPECT_EQ(std::memcmp(copy.data(), x.const_data_ptr(), x.nbytes()), 0);
}

TEST(GeneratorStates, ComeBackToTheBit) {
  torch::manual_seed(4);
  const auto generator = at::globalContext().defaultGenerator(at::kCPU);
  torch::randn({3});  // an odd number of normals leaves one cached
  const auto state = save_generator(generator);
  const auto first = torch::randn({5});
  torch::randn({100});
  restore_generator(generator, state);
  EXPECT_TRUE(bits_equal(torch::randn({5}), first));
}

Trace chain() {
  // x (external) -> a (100 bytes) -> b (60) -> loss (4), weights w (external, 40) read by the second op.
  Trace trace;
  trace.values.resize(5);
  trace.values[0].bytes = 100;
  trace.values[1] = {.bytes = 40, .requires_grad = true};
  trace.values[2] = {.bytes = 100, .maker = OpId(std::size_t{0}), .requires_grad = true};
  trace.values[3] = {.bytes = 60, .maker = OpId(std::size_t{1}), .requires_grad = true};
  trace.values[4] = {.bytes = 4, .maker = OpId(std::size_t{2}), .requires_grad = true};
  const auto value = [](std::size_t v) { return ValueId(v); };
  trace.ops.resize(3);
  trace.ops[0] = {.name = "first", .inputs = {value(0)}, .outputs = {value(2)}, .peak_bytes = 100};
  trace.ops[1] = {.name = "second", .inputs = {value(2), value(1)}, .outputs = {value(3)}, .peak_bytes = 90};
  trace.ops[2] = {.name = "loss", .inputs = {value(3)}, .outputs = {value(4)}, .peak_bytes = 4};
  trace.saved = {{value(2), OpId(std::size_t{1})}, {value(3), OpId(std::size_t{2})}};
  return trace;
}

TEST(EstimateBackward, GradientsLiveFromLastReaderToMaker) {
  Trace trace = chain();
  estimate_backward(trace, {1, 1}, 7);
  using Kind = BackwardEvent::Kind;
  std::vector<Kind> kinds;
  for (const auto& event : trace.backward) kinds.push_back(event.kind);
  EXPECT_EQ(kinds,
            (std::vector<Kind>{Kind::begin, Kind::unpack, Kind::release, Kind::unpack, Kind::release, Kind::end}));
  // Backward of the loss makes the gradient of b: 60. Of the second op: of a and
  // w, 100 + 40, beside a workspace of 30; then b's gradient goes.
  EXPECT_EQ(trace.backward[1].base_bytes, 7);
  EXPECT_EQ(trace.backward[1].gap_bytes, 7 + 60);
  EXPECT_EQ(trace.backward[3].base_bytes, 7 + 60);
  EXPECT_EQ(trace.backward[3].gap_bytes, 7 + 60 + 140 + 30);
  EXPECT_EQ(trace.backward.back().base_bytes, 7 + 40) << "the gradient of the weights stays";
  EXPECT_EQ(trace.gradient_bytes, 40);
  EXPECT_FALSE(trace.backward_measured);
}

TEST(EstimateBackward, WhatWasReleasedInForwardIsNotAskedFor) {
  Trace trace = chain();
  estimate_backward(trace, {1, 0}, 0);
  for (const auto& event : trace.backward) {
    if (event.saved.valid()) {
      EXPECT_EQ(event.saved, SavedId(std::size_t{0}));
    }
  }
}

}  // namespace
}  // namespace reforward
