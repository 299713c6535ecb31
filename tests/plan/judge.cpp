#include "plan/judge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace reforward::judge {
namespace {

constexpr int64_t forever = std::numeric_limits<int64_t>::max() - 1;

struct Buffer {  // one instance of a value; times are moments
  ValueId value;
  uint64_t contents = 0;
  int64_t born = 0;
  int64_t used = -1;  // the last at which we need it
  int64_t user = -1;  // the last at which the user's code holds it
  int over = -1;      // the buffer that the op at `written` wrote over to make it
  int64_t written = -1;
};

struct Game {
  const Trace& trace;
  const Plan& plan;
  std::vector<int64_t> moments{};  // bytes that are in no buffer: static, base, an op's own
  std::vector<int64_t> starts{};   // by position: its first moment
  std::vector<Buffer> buffers{};
  std::vector<uint64_t> truth{};  // by value: its contents in the plain step
  std::map<ValueId, int> held{};
  std::map<SavedId, int> in_hand{};  // entries between unpack and release
  Verdict verdict{};

  void demand(bool holds, const char* why) {
    if (!holds) throw why;
  }
  Buffer& at(int buffer) { return buffers[static_cast<std::size_t>(buffer)]; }
  const Value& about(ValueId value) const { return trace.values[value.at()]; }
  bool there(ValueId value) const { return value.valid() && value.at() < trace.values.size(); }
  bool there(OpId op) const { return op.valid() && op.at() < trace.ops.size(); }
  bool inside_external(ValueId value) const {
    return about(value).external() || (about(value).overwrites.valid() && inside_external(about(value).overwrites));
  }
  int64_t moment(int64_t bytes) {
    moments.push_back(trace.static_bytes + bytes);
    return static_cast<int64_t>(moments.size()) - 1;
  }
  int make(Buffer buffer) {
    buffers.push_back(buffer);
    return static_cast<int>(buffers.size()) - 1;
  }
  std::set<ValueId> reads(const Op& op) const {
    std::set<ValueId> all(op.inputs.begin(), op.inputs.end());
    for (const ValueId out : op.outputs) all.insert(about(out).overwrites);
    all.erase(ValueId());
    return all;
  }
  int64_t own_bytes(const Op& op) const {
    int64_t fresh = 0;
    for (const ValueId out : op.outputs) fresh += about(out).overwrites.valid() ? 0 : about(out).bytes;
    return std::max(fresh, op.peak_bytes);
  }
  /// What an op writes follows from what it reads, and from nothing else.
  uint64_t contents(std::size_t op, std::size_t output, const std::vector<uint64_t>& from) const {
    uint64_t mix = (op << 20) + output;
    for (const uint64_t c : from) mix = (mix ^ c) * 1099511628211ULL + 17;
    return mix;
  }

  void forward() {
    for (std::size_t v = 0; v < trace.values.size(); ++v) truth.push_back(v);
    const std::set<ValueId> kept(plan.keep.begin(), plan.keep.end());
    demand(std::vector<ValueId>(kept.begin(), kept.end()) == plan.keep, "keep is not ascending");
    for (const ValueId v : kept)
      demand(there(v) && !about(v).external() && !about(v).overwritten, "keeps what cannot be");
    for (std::size_t k = 0; k < trace.ops.size(); ++k) {
      const Op& op = trace.ops[k];
      starts.push_back(moment(op.base_bytes + own_bytes(op)));
      const int64_t after = moment(op.gap_bytes);
      std::vector<uint64_t> from;
      for (const ValueId in : reads(op)) from.push_back(truth[in.at()]);
      for (std::size_t o = 0; o < op.outputs.size(); ++o) {
        const ValueId out = op.outputs[o];
        const int made = make({out, truth[out.at()] = contents(k, o, from), after});
        if (kept.count(out) != 0) held[out] = made;
      }
    }
  }

  void run(const Reforward& reforward, int64_t base) {
    std::map<ValueId, int> here;
    OpId before;
    for (const OpId k : reforward.ops) {
      demand(there(k) && k > before && !trace.ops[k.at()].pinned, "runs an op that it cannot");
      before = k;
      const Op& op = trace.ops[k.at()];
      const int64_t now = moment(base + own_bytes(op));
      verdict.recompute_seconds += op.seconds;
      std::vector<uint64_t> from;
      for (const ValueId in : reads(op)) {
        demand(about(in).external() || here.count(in) != 0 || held.count(in) != 0, "needs a value that is not there");
        if (!about(in).external()) here.insert({in, here.count(in) != 0 ? here[in] : held[in]});
        if (!about(in).external()) at(here[in]).used = now;
        from.push_back(about(in).external() ? truth[in.at()] : at(here[in]).contents);
      }
      for (std::size_t o = 0; o < op.outputs.size(); ++o) {
        const ValueId out = op.outputs[o], over = about(out).overwrites;
        demand(!inside_external(out), "writes into an external again");
        here[out] = make({out, contents(k.at(), o, from), now + 1, -1, -1, over.valid() ? here.at(over) : -1, now});
      }
    }
    for (const ValueId v : reforward.keep) {
      demand(here.count(v) != 0 && std::count(reforward.ops.begin(), reforward.ops.end(), about(v).maker) == 1,
             "keeps what it does not make");
      for (const auto& [entry, buffer] : in_hand)
        demand(held.count(v) == 0 || buffer != held[v], "makes anew what a node uses");
    }
    demand(std::set<ValueId>(reforward.keep.begin(), reforward.keep.end()).size() == reforward.keep.size(),
           "keeps twice");
    for (const ValueId v : reforward.keep) held[v] = here[v];
  }

  void backward() {
    auto next = plan.reforwards.begin();
    for (const BackwardEvent& event : trace.backward) {
      starts.push_back(static_cast<int64_t>(moments.size()));
      const ValueId v = event.saved.valid() ? trace.saved[event.saved.at()].value : ValueId();
      const bool tracked = v.valid() && !about(v).external();
      if (tracked && event.kind == BackwardEvent::Kind::unpack) {
        while (held.count(v) == 0) {
          demand(next != plan.reforwards.end(), "a value is unpacked that is not there");
          run(*next++, event.base_bytes);
        }
        demand(at(held[v]).contents == truth[v.at()], "a value is unpacked with wrong contents");
        in_hand[event.saved] = held[v];
      }
      const int64_t start = moment(event.base_bytes);
      moment(event.gap_bytes);
      if (!tracked || event.kind != BackwardEvent::Kind::release) continue;
      if (held.count(v) != 0) at(held[v]).used = start;
      in_hand.erase(event.saved);
    }
    for (const auto& [entry, buffer] : in_hand) at(buffer).used = forever;
    for (; next != plan.reforwards.end(); ++next) {
      for (const OpId k : next->ops) demand(there(k), "runs ops that are not there");
      for (const ValueId v : next->keep) demand(there(v), "keeps what is not there");
    }
  }

  void count_bytes() {
    for (Buffer& buffer : buffers) {
      const auto dies = static_cast<std::size_t>(about(buffer.value).dies);
      if (buffer.written < 0) {  // from forward; an overwritten one is still there while the op works on it
        buffer.user = dies >= starts.size() ? forever : starts[dies] - (about(buffer.value).overwritten ? 0 : 1);
      } else if (buffer.over >= 0 && at(buffer.over).used > buffer.written) {
        buffer.born = buffer.written;  // somebody needs what it overwrites: it is a copy, made before the op
        buffer.used = std::max(buffer.used, buffer.written);
      }
    }
    for (int64_t now = 0; now < static_cast<int64_t>(moments.size()); ++now) {
      int64_t live = moments[static_cast<std::size_t>(now)];
      for (const Buffer& b : buffers) {
        if (b.born <= now && now <= std::max(b.used, b.user) && !inside_external(b.value)) live += about(b.value).bytes;
      }
      verdict.peak_bytes = std::max(verdict.peak_bytes, live);
    }
  }
};

}  // namespace

Verdict judge(const Trace& trace, const Plan& plan) {
  Game game{trace, plan};
  try {
    game.forward();
    game.backward();
    game.count_bytes();
    game.verdict.sound = true;
  } catch (const char* why) {
    game.verdict.why = why;
  }
  return game.verdict;
}

}  // namespace reforward::judge
