#include "reforward/trace.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "reforward/error.h"

namespace reforward {
namespace {

/// Amounts above this are no device's memory; below it no sum over a step overflows.
constexpr int64_t most_bytes = int64_t{1} << 58;

void require(bool holds, const char* kind, std::size_t index, const char* problem) {
  if (holds) return;
  throw FormatError("the trace is damaged: " + std::string(kind) + " " + std::to_string(index) + " " + problem +
                    "; record it again with reforward trace");
}

void require(bool holds, const char* problem) {
  if (holds) return;
  throw FormatError("the trace is damaged: " + std::string(problem) + "; record it again with reforward trace");
}

bool sane(int64_t bytes) { return bytes >= -most_bytes && bytes <= most_bytes; }
bool sane(double seconds) { return std::isfinite(seconds) && seconds >= 0 && seconds < 1e12; }

template <class Tag>
bool within(Id<Tag> id, std::size_t count) {
  return id.valid() && id.at() < count;
}

/// By value: the value that overwrites it, if any.
std::vector<ValueId> check_values(const Trace& trace) {
  std::vector<ValueId> overwriter(trace.values.size());
  int64_t total = 0;
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    const Value& value = trace.values[i];
    require(value.bytes >= 0 && value.bytes <= most_bytes - total, "value", i, "has an impossible size");
    total += value.bytes;
    require(value.maker.index >= -1 && value.overwrites.index >= -1, "value", i, "has a negative index");
    if (value.external()) {
      require(!value.overwrites.valid(), "value", i, "overwrites another but no op made it");
      continue;
    }
    require(within(value.maker, trace.ops.size()), "value", i, "was made by an op that is not there");
    require(value.dies > value.maker.index, "value", i, "dies before it is made");
    if (!value.overwrites.valid()) continue;
    require(within(value.overwrites, trace.values.size()), "value", i, "overwrites a value that is not there");
    const Value& before = trace.values[value.overwrites.at()];
    require(before.overwritten, "value", i, "overwrites a value that says it is not overwritten");
    require(before.maker < value.maker, "value", i, "overwrites a value made after it");
    require(before.bytes == value.bytes, "value", i, "has another size than the version it overwrites");
    require(!overwriter[value.overwrites.at()].valid(), "value", i, "overwrites a value that was overwritten before");
    overwriter[value.overwrites.at()] = ValueId(i);
  }
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    const Value& value = trace.values[i];
    require(value.overwritten == overwriter[i].valid(), "value", i, "says it is overwritten, but by no value");
    if (!value.overwritten || value.external()) continue;
    require(value.dies == trace.values[overwriter[i].at()].maker.index, "value", i,
            "is overwritten but does not die at the op that does it");
  }
  return overwriter;
}

void check_ops(const Trace& trace, const std::vector<ValueId>& overwriter) {
  std::vector<std::size_t> seen(trace.values.size(), 0);
  std::size_t made = 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    for (const ValueId input : op.inputs) {
      require(within(input, trace.values.size()), "op", i, "reads a value that is not there");
      require(seen[input.at()] != i + 1, "op", i, "lists an input twice");
      seen[input.at()] = i + 1;
      require(trace.values[input.at()].maker < OpId(i), "op", i, "reads a value before it is made");
      const ValueId next = overwriter[input.at()];
      require(!next.valid() || trace.values[next.at()].maker >= OpId(i), "op", i,
              "reads a value after it was overwritten");
    }
    for (const ValueId output : op.outputs) {
      require(within(output, trace.values.size()), "op", i, "makes a value that is not there");
      require(seen[output.at()] != i + 1, "op", i, "lists an output twice");
      seen[output.at()] = i + 1;
      require(trace.values[output.at()].maker == OpId(i), "op", i, "lists an output that names another maker");
      ++made;
    }
    require(op.peak_bytes >= 0, "op", i, "has a negative peak");
    require(sane(op.base_bytes) && sane(op.peak_bytes) && sane(op.gap_bytes), "op", i, "has an impossible size");
    require(sane(op.seconds), "op", i, "has an impossible duration");
  }
  const auto tracked =
      std::count_if(trace.values.begin(), trace.values.end(), [](const Value& v) { return !v.external(); });
  require(static_cast<std::size_t>(tracked) == made, "a value is missing among the outputs of the op that made it");
}

void check_saved(const Trace& trace) {
  for (std::size_t i = 0; i < trace.saved.size(); ++i) {
    const Saved& saved = trace.saved[i];
    require(within(saved.value, trace.values.size()), "saved entry", i, "names a value that is not there");
    require(within(saved.op, trace.ops.size()), "saved entry", i, "names an op that is not there");
    require(trace.values[saved.value.at()].maker <= saved.op, "saved entry", i, "was saved before it was made");
  }
}

void check_backward(const Trace& trace) {
  using Kind = BackwardEvent::Kind;
  const auto& events = trace.backward;
  require(events.size() >= 2 && events.front().kind == Kind::begin && events.back().kind == Kind::end,
          "its backward pass does not go from begin to end");
  std::vector<uint8_t> released(trace.saved.size(), 0);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const BackwardEvent& event = events[i];
    require(sane(event.base_bytes) && sane(event.gap_bytes), "backward event", i, "has an impossible size");
    if (event.kind == Kind::begin || event.kind == Kind::end) {
      require(!event.saved.valid(), "backward event", i, "begins or ends and names a saved entry");
      require((i == 0) == (event.kind == Kind::begin), "backward event", i, "begins again");
      require((i + 1 == events.size()) == (event.kind == Kind::end), "backward event", i, "ends too early");
      continue;
    }
    require(event.kind == Kind::unpack || event.kind == Kind::release, "backward event", i, "is of an unknown kind");
    require(within(event.saved, trace.saved.size()), "backward event", i, "names a saved entry that is not there");
    require(released[event.saved.at()] == 0, "backward event", i, "uses a saved entry after its release");
    if (event.kind == Kind::release) released[event.saved.at()] = 1;
  }
}

/// FNV-1a, 64 bits, over integers byte by byte from the lowest, so that it is
/// the same on every machine.
class Hash {
 public:
  void add(uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<uint8_t>(number >> (8 * i)));
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add_byte(static_cast<uint8_t>(c));
  }
  template <class Tag>
  void add(Id<Tag> id) {
    add(static_cast<uint64_t>(static_cast<int64_t>(id.index)));
  }
  template <class Tag>
  void add(const std::vector<Id<Tag>>& ids) {
    add(ids.size());
    for (const auto id : ids) add(id);
  }
  uint64_t get() const { return state_; }

 private:
  void add_byte(uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace

void validate(const Trace& trace) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int32_t>::max()) / 4;
  require(trace.values.size() < most && trace.ops.size() < most && trace.saved.size() < most &&
              trace.backward.size() < most,
          "it has too many entries");
  require(trace.static_bytes >= 0 && sane(trace.static_bytes) && sane(trace.gradient_bytes),
          "its totals are impossible");
  require(sane(trace.forward_seconds) && sane(trace.backward_seconds), "its durations are impossible");
  const auto overwriter = check_values(trace);
  check_ops(trace, overwriter);
  check_saved(trace);
  check_backward(trace);
}

uint64_t fingerprint(const Trace& trace) {
  Hash hash;
  hash.add(trace.values.size());
  for (const Value& value : trace.values) {
    hash.add(static_cast<uint64_t>(value.bytes));
    hash.add(value.maker);
    hash.add(value.overwrites);
  }
  hash.add(trace.ops.size());
  for (const Op& op : trace.ops) {
    hash.add(op.name);
    hash.add(op.inputs);
    hash.add(op.outputs);
    hash.add(static_cast<uint64_t>(op.random) * 2 + static_cast<uint64_t>(op.pinned));
  }
  hash.add(trace.saved.size());
  for (const Saved& saved : trace.saved) {
    hash.add(saved.value);
    hash.add(saved.op);
  }
  hash.add(trace.backward.size());
  for (const BackwardEvent& event : trace.backward) {
    hash.add(static_cast<uint64_t>(event.kind));
    hash.add(event.saved);
  }
  // 0 says "none" in a plan.
  return hash.get() == 0 ? 1 : hash.get();
}

}  // namespace reforward
