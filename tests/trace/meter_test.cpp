#include "trace/meter.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <optional>
#include <vector>

namespace reforward {
namespace {

constexpr int64_t float_bytes = 4;

TEST(MemoryMeter, CountsEveryAllocationAndFree) {
  auto& meter = MemoryMeter::current();
  const int64_t before = meter.live();
  meter.reset_peak();
  {
    const auto a = torch::empty({1000});
    EXPECT_EQ(meter.live() - before, 1000 * float_bytes);
    {
      const auto b = torch::empty({500}, torch::kDouble);
      EXPECT_EQ(meter.live() - before, 1000 * float_bytes + 500 * 8);
    }
    const auto view = a.view({10, 100}).t();
    EXPECT_EQ(meter.live() - before, 1000 * float_bytes) << "a view is no memory";
  }
  EXPECT_EQ(meter.live(), before);
  EXPECT_EQ(meter.peak() - before, 1000 * float_bytes + 500 * 8);
}

TEST(MemoryMeter, MarksHaveTheirOwnPeak) {
  auto& meter = MemoryMeter::current();
  { const auto big = torch::empty({10000}); }
  meter.mark();
  const int64_t at_mark = meter.live();
  const auto small = torch::empty({10});
  EXPECT_EQ(meter.peak_since_mark() - at_mark, 10 * float_bytes);
}

TEST(MemoryMeter, LedgerTellsBaseFromTrackedBytes) {
  auto& meter = MemoryMeter::current();
  const auto old = std::make_optional(torch::empty({77}));
  std::vector<ValueId> dead;
  meter.open_ledger([&](ValueId value) { dead.push_back(value); });
  auto scratch = std::make_optional(torch::empty({100}));
  auto made = std::make_optional(torch::empty({30}));
  EXPECT_EQ(meter.base(), 130 * float_bytes);
  const ValueId value(std::size_t{5});
  EXPECT_EQ(meter.give_to(made->storage().data(), value, 0), 30 * float_bytes);
  EXPECT_EQ(meter.base(), 100 * float_bytes);
  {
    MemoryMeter::OwnWork own(meter);
    const auto ours = torch::empty({1000});
    EXPECT_EQ(meter.base(), 100 * float_bytes) << "what a re-forward makes is tracked";
  }
  EXPECT_EQ(meter.take_base_peak(), 130 * float_bytes);
  scratch.reset();
  EXPECT_EQ(meter.base(), 0);
  EXPECT_EQ(meter.take_base_peak(), 100 * float_bytes);
  made.reset();
  EXPECT_EQ(dead, std::vector<ValueId>{value});
  EXPECT_EQ(meter.base(), 0);
  meter.close_ledger();
}

TEST(MemoryMeter, FreesOfWhatWasThereBeforeLowerTheBase) {
  auto& meter = MemoryMeter::current();
  auto old = std::make_optional(torch::empty({77}));
  meter.open_ledger([](ValueId) {});
  old.reset();
  EXPECT_EQ(meter.base(), -77 * float_bytes);
  meter.close_ledger();
}

}  // namespace
}  // namespace reforward
