#include "trace/op_info.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "trace/observer.h"

namespace reforward {
namespace {

OpInfo info_of(const char* name, const char* overload = "") {
  return OpInfo::make(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload));
}

TEST(OpInfo, CompositesAreAboveTheLevelWeRecordAt) {
  for (const auto* name : {"aten::linear", "aten::matmul", "aten::batch_norm", "aten::conv1d", "aten::layer_norm",
                           "aten::cross_entropy_loss", "aten::scaled_dot_product_attention"}) {
    EXPECT_TRUE(info_of(name).above_autograd(c10::kCPU)) << name;
  }
  for (const auto* name : {"aten::convolution", "aten::mm", "aten::addmm", "aten::native_batch_norm", "aten::relu",
                           "aten::native_layer_norm", "aten::cat", "aten::gelu", "aten::embedding"}) {
    EXPECT_FALSE(info_of(name).above_autograd(c10::kCPU)) << name;
  }
}

TEST(OpInfo, ViewsSizesAndMetadataMakeNoValues) {
  for (const auto* name : {"aten::view", "aten::t", "aten::expand", "aten::detach", "aten::unbind.int",
                           "aten::squeeze_", "aten::detach_", "aten::_local_scalar_dense"}) {
    const std::string text = name;
    const auto dot = text.find('.');
    EXPECT_FALSE(
        info_of(text.substr(0, dot).c_str(), dot == std::string::npos ? "" : text.substr(dot + 1).c_str()).makes_values)
        << name;
  }
  for (const auto* name :
       {"aten::mm", "aten::relu_", "aten::clone", "aten::native_dropout", "aten::max_pool2d_with_indices"}) {
    EXPECT_TRUE(info_of(name).makes_values) << name;
  }
}

TEST(OpInfo, WritesAndRandomnessComeFromSchemaAndTags) {
  const auto add = info_of("aten::add_", "Tensor");
  EXPECT_TRUE(add.any_writes);
  EXPECT_EQ(add.writes, (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_FALSE(info_of("aten::add", "Tensor").any_writes);
  EXPECT_TRUE(info_of("aten::bernoulli_", "float").random);
  EXPECT_FALSE(info_of("aten::mm").random);
  EXPECT_TRUE(info_of("aten::empty_like").uninitialized);
}

TEST(OpInfo, BatchNormsHiddenWritesAreKnown) {
  const auto norm = info_of("aten::native_batch_norm");
  ASSERT_EQ(norm.hidden_writes.size(), 2U);
  const auto& arguments = norm.handle.schema().arguments();
  EXPECT_EQ(arguments[norm.hidden_writes[0]].name(), "running_mean");
  EXPECT_EQ(arguments[norm.hidden_writes[1]].name(), "running_var");
  EXPECT_EQ(arguments[norm.hidden_if].name(), "training");
}

/// The names of the ops that a piece of code is recorded as.
class Names final : public OpListener {
 public:
  void op_begin(const OpInfo& op, c10::ArrayRef<const c10::IValue>) noexcept override { names.push_back(op.name); }
  void op_end(const std::vector<c10::IValue>&) noexcept override { ++ended; }
  void op_failed() noexcept override { ++failed; }
  std::vector<std::string> names;
  int ended = 0;
  int failed = 0;
};

TEST(Observer, SeesEachOpOnceAtTheLevelBelowAutograd) {
  const auto x = torch::randn({2, 3}), w = torch::randn({4, 3}, torch::requires_grad()), b = torch::randn({4});
  Names seen;
  {
    Observer observer(seen);
    torch::linear(x, w, b).relu().reshape({8}).t();
  }
  torch::mm(x, x.t());
  EXPECT_EQ(seen.names, (std::vector<std::string>{"aten::addmm", "aten::relu"}));
  EXPECT_EQ(seen.ended, 2);
}

TEST(Observer, ACallThatAutocastWillChangeIsSeenBelowIt) {
  const auto x = torch::randn({2, 3});
  Names seen;
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  {
    Observer observer(seen);
    torch::mm(x, x.t());
  }
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(seen.names, (std::vector<std::string>{"aten::_to_copy", "aten::_to_copy", "aten::mm"}));
}

TEST(Observer, TellsOfOpsThatThrow) {
  const auto x = torch::randn({2, 3});
  Names seen;
  {
    Observer observer(seen);
    EXPECT_THROW(torch::mm(x, x), c10::Error);
    torch::neg(x);
  }
  EXPECT_EQ(seen.failed, 1);
  EXPECT_EQ(seen.ended, 1);
}

}  // namespace
}  // namespace reforward
