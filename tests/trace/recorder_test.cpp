#include "trace/recorder.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "trace/meter.h"
#include "trace/observer.h"

namespace reforward {
namespace {

/// Records what a piece of code does, as a step would.
class Recording final : public OpListener, public RecorderClient {
 public:
  explicit Recording(std::shared_ptr<const Tape> follow = nullptr) : recorder(*this, c10::kCPU, std::move(follow)) {}

  void run(const std::function<void()>& code) {
    Observer observer(*this);
    code();
  }
  const Tape& tape() const { return recorder.tape(); }

  void op_begin(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) noexcept override {
    recorder.begin(op, inputs);
  }
  void op_end(const std::vector<c10::IValue>& outputs) noexcept override { recorder.end(outputs); }
  void op_failed() noexcept override { recorder.fail(); }
  void external_bound(ValueId value, const at::Tensor&) override { externals.push_back(value); }
  void before_overwrite(ValueId value, const at::Tensor&, bool to_copy) override {
    if (to_copy) overwritten.push_back(value);
  }
  void value_made(ValueId value, const at::Tensor&, bool) override { made.push_back(value); }

  Recorder recorder;
  std::vector<ValueId> externals, overwritten, made;
};

TEST(Recorder, ViewsReadTheSameValue) {
  const auto x = torch::randn({4, 4});
  Recording recording;
  recording.run([&] {
    const auto y = x.exp();
    torch::mm(y.t(), y.narrow(1, 0, 2));
  });
  ASSERT_EQ(recording.tape().ops.size(), 2U);
  const auto& mm = recording.tape().ops[1];
  ASSERT_EQ(mm.operands.size(), 2U);
  EXPECT_EQ(mm.operands[0].value, mm.operands[1].value);
  EXPECT_EQ(mm.operands[0].value, recording.tape().ops[0].outputs[0].value);
  EXPECT_EQ(mm.operands[0].geometry.strides, (c10::DimVector{1, 4}));
  EXPECT_EQ(mm.operands[1].geometry.sizes, (c10::DimVector{4, 2}));
}

TEST(Recorder, AWriteMakesTheNextVersion) {
  const auto x = torch::randn({4});
  Recording recording;
  recording.run([&] {
    auto y = x.exp();
    y.narrow(0, 0, 2).mul_(2.0);
    y.add_(x);
  });
  const auto& tape = recording.tape();
  ASSERT_EQ(tape.ops.size(), 3U);
  const ValueId first = tape.ops[0].outputs[0].value, second = tape.ops[1].outputs[0].value,
                third = tape.ops[2].outputs[0].value;
  EXPECT_EQ(tape.values[second.at()].overwrites, first);
  EXPECT_EQ(tape.values[third.at()].overwrites, second);
  EXPECT_TRUE(tape.values[first.at()].overwritten);
  EXPECT_TRUE(tape.values[second.at()].overwritten);
  EXPECT_FALSE(tape.values[third.at()].overwritten);
}

TEST(Recorder, WritingOverAnExternalThatWasReadIsAnnounced) {
  const auto x = torch::randn({4});
  auto unread = torch::randn({4});
  Recording recording;
  recording.run([&] {
    unread.add_(1.0);
    const auto y = x.exp();
    x.mul_(2.0);
    x.exp();
  });
  ASSERT_EQ(recording.overwritten.size(), 1U);
  const auto& tape = recording.tape();
  EXPECT_EQ(recording.overwritten[0], tape.ops[1].operands[0].value);
  EXPECT_NE(tape.ops[1].operands[0].value, tape.ops[3].operands[0].value) << "other contents, another value";
}

TEST(Recorder, HoldsNoMemoryOfIntermediates) {
  const auto x = torch::randn({1000});
  const int64_t before = MemoryMeter::current().live();
  Recording recording;
  recording.run([&] { x.exp().sin().cos(); });
  EXPECT_EQ(recording.tape().ops.size(), 3U);
  EXPECT_EQ(MemoryMeter::current().live(), before);
}

TEST(Recorder, FollowsATapeUntilTheStepDiffers) {
  const auto x = torch::randn({8});
  Recording first;
  first.run([&] { ((x.exp() * 2.0).sin() + 1.0).cos(); });
  const auto tape = first.recorder.share_tape();

  Recording same(tape);
  same.run([&] { ((x.exp() * 3.0).sin() + 1.0).cos(); });
  EXPECT_TRUE(same.recorder.following());
  EXPECT_EQ(same.recorder.op_count(), tape->ops.size());
  const auto constants = same.recorder.constants(OpId(std::size_t{1}));
  EXPECT_EQ(constants[1].toDouble(), 3.0) << "the scalar of this step, not the tape's";

  Recording other(tape);
  other.run([&] { ((x.exp() * 2.0).cos() + 1.0).cos(); });
  EXPECT_FALSE(other.recorder.following());
  ASSERT_EQ(other.tape().ops.size(), tape->ops.size());
  EXPECT_EQ(other.tape().ops[2].info->name, "aten::cos");
  EXPECT_EQ(tape->ops[2].info->name, "aten::sin") << "the followed tape is not touched";

  const auto longer = torch::randn({9});
  Recording shape(tape);
  shape.run([&] { longer.exp(); });
  EXPECT_FALSE(shape.recorder.following());
}

TEST(Recorder, TheSameOpOnAnotherValueDoesNotFollow) {
  const auto x = torch::randn({8});
  Recording first;
  first.run([&] {
    const auto a = x.exp(), b = x.sin();
    a.mul(b);
  });
  Recording swapped(first.recorder.share_tape());
  swapped.run([&] {
    const auto a = x.exp(), b = x.sin();
    b.mul(a);
  });
  EXPECT_FALSE(swapped.recorder.following());
}

}  // namespace
}  // namespace reforward
