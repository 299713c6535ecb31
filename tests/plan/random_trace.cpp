#include "plan/random_trace.h"

#include <algorithm>
#include <vector>

#include "plan/assemble.h"

namespace reforward::made_up {
namespace {

struct Kind {
  bool odd = true;
  unsigned in_place = 25;
};

ValueId add_value(Trace& trace, int64_t bytes, OpId maker) {
  Value value;
  value.bytes = bytes;
  value.maker = maker;
  value.requires_grad = true;
  trace.values.push_back(value);
  return ValueId(trace.values.size() - 1);
}

int64_t size(Random& random) { return chance(random, 10) ? 0 : 1 + static_cast<int64_t>(below(random, 100)); }

void add_op(Random& random, Trace& trace, std::vector<ValueId>& current, const Kind& kind) {
  const OpId id(trace.ops.size());
  Op op;
  op.name = "aten::op" + std::to_string(below(random, 5));
  op.seconds = static_cast<double>(1 + below(random, 20));
  op.base_bytes = static_cast<int64_t>(below(random, 30));
  op.gap_bytes = op.base_bytes + static_cast<int64_t>(below(random, 30));
  op.random = chance(random, 10);
  op.pinned = kind.odd && chance(random, 5);
  for (std::size_t n = below(random, 4); n > 0; --n) {
    const std::size_t back =
        chance(random, 70) ? below(random, std::min<std::size_t>(3, current.size())) : below(random, current.size());
    const ValueId input = current[current.size() - 1 - back];
    if (std::find(op.inputs.begin(), op.inputs.end(), input) == op.inputs.end()) op.inputs.push_back(input);
  }
  std::vector<ValueId> made;
  if (chance(random, kind.in_place) && !op.inputs.empty()) {
    const ValueId over = op.inputs[below(random, op.inputs.size())];
    const bool external = trace.values[over.at()].external();
    if (!external || (kind.odd && chance(random, 20))) {
      const ValueId output = add_value(trace, trace.values[over.at()].bytes, id);
      trace.values[output.at()].overwrites = over;
      trace.values[over.at()].overwritten = true;
      trace.values[over.at()].dies = id.index;
      std::replace(current.begin(), current.end(), over, output);
      op.outputs.push_back(output);
      // fill_ and its like write without reading.
      if (kind.odd && chance(random, 10)) op.inputs.erase(std::find(op.inputs.begin(), op.inputs.end(), over));
    }
  }
  if (op.outputs.empty() || chance(random, 15)) made.push_back(add_value(trace, size(random), id));
  if (chance(random, 15)) made.push_back(add_value(trace, size(random), id));
  for (const ValueId output : made) {
    op.peak_bytes += trace.values[output.at()].bytes;
    op.outputs.push_back(output);
    current.push_back(output);
  }
  if (chance(random, 50)) op.peak_bytes += static_cast<int64_t>(below(random, 60));
  trace.ops.push_back(std::move(op));
}

void set_deaths(Random& random, Trace& trace, const Kind& kind) {
  std::vector<int32_t> last(trace.values.size(), -1);
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    for (const ValueId input : trace.ops[i].inputs) last[input.at()] = static_cast<int32_t>(i);
  }
  for (std::size_t v = 0; v < trace.values.size(); ++v) {
    Value& value = trace.values[v];
    if (value.external() || value.overwritten) continue;
    value.dies = std::max(last[v], value.maker.index) + 1;
    if (kind.odd && chance(random, 10)) value.dies += static_cast<int32_t>(below(random, trace.ops.size() * 4));
    if (kind.odd && chance(random, 4)) value.dies = Value::never;
  }
}

void save_some(Random& random, Trace& trace, const Kind& kind) {
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    std::vector<ValueId> near = trace.ops[i].inputs;
    near.insert(near.end(), trace.ops[i].outputs.begin(), trace.ops[i].outputs.end());
    if (kind.odd && chance(random, 10) && i > 0) {
      const auto& far = trace.ops[below(random, i)].outputs;
      near.insert(near.end(), far.begin(), far.end());
    }
    for (const ValueId value : near) {
      const Value& v = trace.values[value.at()];
      if (v.external() || (v.overwritten && !(kind.odd && chance(random, 5)))) continue;
      if (chance(random, 50)) trace.saved.push_back({value, OpId(i)});
    }
  }
}

void add_backward(Random& random, Trace& trace, const Kind& kind) {
  using Event = BackwardEvent::Kind;
  auto& events = trace.backward;
  const auto add = [&](Event event, SavedId saved) {
    const auto base = static_cast<int64_t>(below(random, 80));
    events.push_back({event, saved, base, base + static_cast<int64_t>(below(random, 40))});
  };
  std::vector<std::vector<SavedId>> nodes(trace.ops.size());
  for (std::size_t s = trace.saved.size(); s-- > 0;) nodes[trace.saved[s].op.at()].emplace_back(s);
  std::reverse(nodes.begin(), nodes.end());
  if (kind.odd && chance(random, 20)) {
    for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[below(random, i)]);
  }
  add(Event::begin, {});
  for (const auto& node : nodes) {
    for (const SavedId saved : node) {
      if (kind.odd && chance(random, 10)) continue;
      add(Event::unpack, saved);
      if (kind.odd && chance(random, 5)) add(Event::unpack, saved);
    }
    for (const SavedId saved : node) {
      if (!kind.odd || chance(random, 95)) add(Event::release, saved);
    }
  }
  add(Event::end, {});
}

Trace build(Random& random, std::size_t ops, const Kind& kind) {
  Trace trace;
  trace.static_bytes = static_cast<int64_t>(below(random, 200));
  std::vector<ValueId> current;
  for (std::size_t n = 1 + below(random, 3); n > 0; --n) current.push_back(add_value(trace, 10, {}));
  for (std::size_t i = 0; i < ops; ++i) add_op(random, trace, current, kind);
  set_deaths(random, trace, kind);
  save_some(random, trace, kind);
  add_backward(random, trace, kind);
  return trace;
}

}  // namespace

Trace random_trace(Random& random, std::size_t most_ops) {
  return build(random, 1 + below(random, most_ops), {true, static_cast<unsigned>(below(random, 60))});
}

Trace random_plain_trace(Random& random, std::size_t ops) {
  return build(random, ops, {false, static_cast<unsigned>(below(random, 30))});
}

Plan random_sound_plan(Random& random, const Trace& trace) {
  const TraceIndex index(trace);
  Levels levels(trace.values.size());
  const unsigned kept = static_cast<unsigned>(below(random, 100));
  const unsigned nested = static_cast<unsigned>(below(random, 60));
  for (auto& level : levels) {
    level = chance(random, kept)     ? uint8_t{0}
            : chance(random, nested) ? static_cast<uint8_t>(1 + below(random, 3))
                                     : leaf;
  }
  return Assembler(index).assemble(levels);
}

void damage(Random& random, const Trace& trace, Plan& plan) {
  const auto any_value = [&] { return ValueId(below(random, trace.values.size() + 1)); };
  const auto any_op = [&] { return OpId(below(random, trace.ops.size() + 1)); };
  if (plan.reforwards.empty()) plan.reforwards.emplace_back();
  Reforward& run = plan.reforwards[below(random, plan.reforwards.size())];
  switch (below(random, 9)) {
    case 0:
      if (!plan.keep.empty())
        plan.keep.erase(plan.keep.begin() + static_cast<std::ptrdiff_t>(below(random, plan.keep.size())));
      break;
    case 1:
      plan.keep.push_back(any_value());
      std::sort(plan.keep.begin(), plan.keep.end());
      break;
    case 2:
      if (!run.ops.empty()) run.ops.erase(run.ops.begin() + static_cast<std::ptrdiff_t>(below(random, run.ops.size())));
      break;
    case 3:
      run.ops.push_back(any_op());
      if (chance(random, 80)) std::sort(run.ops.begin(), run.ops.end());
      break;
    case 4:
      if (!run.keep.empty())
        run.keep.erase(run.keep.begin() + static_cast<std::ptrdiff_t>(below(random, run.keep.size())));
      break;
    case 5:
      run.keep.push_back(any_value());
      break;
    case 6:
      std::swap(run, plan.reforwards.front());
      break;
    case 7: {  // keep one more of what the run makes
      if (run.ops.empty() || run.ops.front().at() >= trace.ops.size()) break;
      const auto& outputs = trace.ops[run.ops.front().at()].outputs;
      if (!outputs.empty()) run.keep.push_back(outputs[below(random, outputs.size())]);
      break;
    }
    default:
      plan.reforwards.push_back(run);
      break;
  }
}

void damage(Random& random, Trace& trace) {
  if (trace.backward.empty()) return;
  const auto number = [&] { return static_cast<int32_t>(below(random, 2 * trace.values.size() + 4)) - 2; };
  Value& value = trace.values[below(random, trace.values.size())];
  Op& op = trace.ops[below(random, trace.ops.size())];
  BackwardEvent& event = trace.backward[below(random, trace.backward.size())];
  switch (below(random, 14)) {
    case 0:
      value.maker.index = number();
      break;
    case 1:
      value.overwrites.index = number();
      break;
    case 2:
      value.overwritten = !value.overwritten;
      break;
    case 3:
      value.dies = number();
      break;
    case 4:
      value.bytes = number();
      break;
    case 5:
      op.inputs.emplace_back();
      op.inputs.back().index = number();
      break;
    case 6:
      op.outputs.emplace_back();
      op.outputs.back().index = number();
      break;
    case 7:
      op.outputs.clear();
      break;
    case 8:
      op.peak_bytes = -1;
      break;
    case 9:
      op.seconds = -1;
      break;
    case 10:
      event.saved.index = number();
      break;
    case 11:
      event.kind = static_cast<BackwardEvent::Kind>(below(random, 5));
      break;
    case 12:
      trace.backward.pop_back();
      break;
    default:
      if (!trace.saved.empty()) trace.saved[below(random, trace.saved.size())].value.index = number();
      break;
  }
}

}  // namespace reforward::made_up
