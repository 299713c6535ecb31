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
  int64_t born = 0;
  int64_t used = -1;  // the last at which we need it
  int64_t user = -1;  // the last at which the user's code holds it
  int over = -1;      // the buffer that the op at `written` wrote over to make it
  int64_t written = -1;
  int twin = -1;         // the buffer that is held of the same value when it is made again,
  int64_t over_by = -1;  // and the last moment of the re-forward that does it
};

void demand(bool holds, const char* why) {
  if (!holds) throw why;
}

struct Game {
  const Trace& trace;
  const Plan& plan;
  std::vector<int64_t> moments{};  // bytes that are in no buffer: static, base, an op's own
  std::vector<int64_t> starts{};   // by position: its first moment
  std::vector<Buffer> buffers{};
  std::map<ValueId, int> held{};
  std::map<SavedId, int> in_hand{};  // entries between unpack and release
  Verdict verdict{};

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
  int make(const Buffer& buffer) {
    buffers.push_back(buffer);
    return static_cast<int>(buffers.size()) - 1;
  }

  void forward() {
    const std::set<ValueId> kept(plan.keep.begin(), plan.keep.end());
    demand(std::vector<ValueId>(kept.begin(), kept.end()) == plan.keep, "keep is not ascending");
    for (const ValueId v : kept)
      demand(there(v) && !about(v).external() && !about(v).overwritten, "keeps what cannot be");
    for (std::size_t k = 0; k < trace.ops.size(); ++k) {
      starts.push_back(moment(trace.ops[k].base_bytes + own_bytes(trace.ops[k])));
      const int64_t after = moment(trace.ops[k].gap_bytes);
      for (const ValueId out : trace.ops[k].outputs) {
        const int made = make({out, after});
        if (kept.count(out) != 0) held[out] = made;
      }
    }
  }

  void run(const Reforward& run, int64_t base) {
    std::map<ValueId, int> here, found;  // made by this run; found by its ops
    OpId before;
    for (const OpId k : run.ops) {
      demand(there(k) && k > before && !trace.ops[k.at()].pinned, "runs an op that it cannot");
      before = k;
      const Op& op = trace.ops[k.at()];
      const int64_t now = moment(base + own_bytes(op));
      verdict.recompute_seconds += op.seconds;
      for (const ValueId in : reads(op)) {
        if (about(in).external()) continue;
        const auto& place = here.count(in) != 0 ? here : held;
        demand(place.count(in) != 0, "needs a value that is not there");
        at(found[in] = place.at(in)).used = now;
      }
      for (const ValueId out : op.outputs) {
        const ValueId over = about(out).overwrites;
        demand(!inside_external(out), "writes into an external again");
        here[out] = make({out, now + 1, -1, -1, over.valid() ? found.at(over) : -1, now});
      }
    }
    for (const auto& [v, buffer] : here) {
      if (held.count(v) == 0) continue;
      at(buffer).twin = held[v];
      at(buffer).over_by = static_cast<int64_t>(moments.size()) - 1;
    }
    demand(std::set<ValueId>(run.keep.begin(), run.keep.end()).size() == run.keep.size(), "keeps a value twice");
    for (const ValueId v : run.keep) {
      demand(here.count(v) != 0, "keeps what it does not make");
      for (const auto& [entry, b] : in_hand) demand(held.count(v) == 0 || b != held[v], "makes anew what a node uses");
      held[v] = here[v];
    }
  }

  void backward() {
    auto next = plan.reforwards.begin();
    for (const BackwardEvent& event : trace.backward) {
      starts.push_back(static_cast<int64_t>(moments.size()));
      const ValueId v = event.saved.valid() ? trace.saved[event.saved.at()].value : ValueId();
      const bool tracked = v.valid() && !about(v).external();
      if (tracked && event.kind == BackwardEvent::Kind::unpack) {
        for (; held.count(v) == 0; ++next) {
          demand(next != plan.reforwards.end(), "a value is unpacked that is not there");
          run(*next, event.base_bytes);
        }
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
    std::vector<int64_t> live = moments;
    const auto held_longer = [&](const Buffer& b) { return b.twin >= 0 && at(b.twin).used > b.over_by; };
    for (Buffer& b : buffers) {
      if (b.over >= 0 && held_longer(at(b.over))) b.over = at(b.over).twin;
      if (held_longer(b)) b.used = -1;  // dropped at once: the one that is held is read
      const auto dies = static_cast<std::size_t>(about(b.value).dies);
      if (b.written < 0) {  // from forward; an overwritten one is still there while the op works on it
        b.user = dies >= starts.size() ? forever : starts[dies] - (about(b.value).overwritten ? 0 : 1);
      } else if (b.over >= 0 && at(b.over).used > b.written) {
        b.born = b.written;  // somebody needs what it overwrites: it is a copy, made before the op
        b.used = std::max(b.used, b.written);
      }
      const int64_t end = std::min(std::max(b.used, b.user), static_cast<int64_t>(live.size()) - 1);
      if (inside_external(b.value)) continue;
      for (int64_t now = b.born; now <= end; ++now) live[static_cast<std::size_t>(now)] += about(b.value).bytes;
    }
    for (const int64_t bytes : live) verdict.peak_bytes = std::max(verdict.peak_bytes, bytes);
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
