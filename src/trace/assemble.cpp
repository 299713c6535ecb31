#include "trace/assemble.h"

#include <algorithm>

#include "reforward/error.h"

namespace reforward {
namespace {

std::vector<ValueId> inputs_of(const TapeOp& op) {
  std::vector<ValueId> inputs;
  for (const auto& operand : op.operands) {
    if (std::find(inputs.begin(), inputs.end(), operand.value) == inputs.end()) inputs.push_back(operand.value);
  }
  return inputs;
}

/// `layer1.0` of a parameter named `layer1.0.weight`.
std::string module_of(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? std::string() : parameter.substr(0, dot);
}

std::vector<Value> values_of(const Tape& tape, const Measurement& measured) {
  std::vector<int32_t> last_read(tape.values.size(), -1);
  std::vector<int32_t> overwriter(tape.values.size(), -1);
  for (std::size_t i = 0; i < tape.ops.size(); ++i) {
    for (const auto& operand : tape.ops[i].operands) last_read[operand.value.at()] = static_cast<int32_t>(i);
    for (const auto& output : tape.ops[i].outputs) {
      const ValueId before = tape.values[output.value.at()].overwrites;
      if (before.valid()) overwriter[before.at()] = static_cast<int32_t>(i);
    }
  }
  std::vector<Value> values(tape.values.size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    const TapeValue& from = tape.values[v];
    Value& value = values[v];
    value.bytes = measured.bytes[v];
    value.maker = from.maker;
    value.overwrites = from.overwrites;
    value.overwritten = from.overwritten;
    value.requires_grad = from.requires_grad;
    value.name = measured.names[v];
    if (value.external()) continue;
    if (value.overwritten) {
      value.dies = overwriter[v];
    } else if (measured.dies[v] >= 0) {
      value.dies = std::max(measured.dies[v], value.maker.index + 1);
    } else if (tape.ops[value.maker.at()].pinned) {
      // Held by us, so its death was not seen: the user is done with it, as far
      // as is known, after the last op that reads it.
      value.dies = std::max(last_read[v], value.maker.index) + 1;
    }
  }
  return values;
}

}  // namespace

void Measurement::grow(std::size_t values) {
  if (values <= bytes.size() && values <= dies.size()) return;
  dies.resize(std::max(values, dies.size()), -1);
  bytes.resize(std::max(values, bytes.size()), 0);
  names.resize(std::max(values, names.size()));
}

Trace assemble(const Tape& tape, const Measurement& measured) {
  invariant(measured.ops.size() == tape.ops.size(), "not every recorded op was measured");
  Trace trace;
  trace.values = values_of(tape, measured);
  std::string module;
  for (std::size_t i = 0; i < tape.ops.size(); ++i) {
    const TapeOp& from = tape.ops[i];
    Op op;
    op.name = from.info->name;
    op.inputs = inputs_of(from);
    for (const ValueId input : op.inputs) {
      const Value& value = trace.values[input.at()];
      if (value.external() && value.name.find('.') != std::string::npos) module = module_of(value.name);
    }
    op.module = module;
    for (const auto& output : from.outputs) {
      if (tape.values[output.value.at()].maker.valid()) op.outputs.push_back(output.value);
    }
    op.seconds = measured.ops[i].seconds;
    op.base_bytes = measured.ops[i].base_bytes;
    op.peak_bytes = measured.ops[i].peak_bytes;
    op.gap_bytes = measured.ops[i].gap_bytes;
    op.random = from.random;
    op.pinned = from.pinned;
    op.pinned_reason = from.pinned_reason;
    trace.ops.push_back(std::move(op));
  }
  trace.saved = measured.saved;
  trace.static_bytes = measured.static_bytes;
  trace.forward_seconds = measured.forward_seconds;
  trace.backward_seconds = measured.backward_seconds;
  if (measured.backward.empty() || measured.backward.back().kind != BackwardEvent::Kind::end) {
    const int64_t base = measured.ops.empty() ? 0 : measured.ops.back().gap_bytes;
    estimate_backward(trace, measured.saved_alive, base);
  } else {
    trace.backward = measured.backward;
    trace.backward_measured = true;
    trace.gradient_bytes = trace.backward.back().base_bytes;
  }
  validate(trace);
  return trace;
}

void estimate_backward(Trace& trace, const std::vector<uint8_t>& saved_alive, int64_t base_bytes) {
  using Kind = BackwardEvent::Kind;
  auto& events = trace.backward;
  events.clear();
  events.push_back({Kind::begin, {}, base_bytes, base_bytes});
  std::vector<std::vector<std::size_t>> saved_by(trace.ops.size());
  for (std::size_t s = 0; s < trace.saved.size(); ++s) {
    if (saved_alive[s] != 0) saved_by[trace.saved[s].op.at()].push_back(s);
  }
  std::vector<uint8_t> has_gradient(trace.values.size(), 0);
  int64_t base = base_bytes;
  for (std::size_t i = trace.ops.size(); i-- > 0;) {
    const Op& op = trace.ops[i];
    int64_t fresh = 0;
    bool differentiable = false;
    for (const ValueId output : op.outputs) {
      differentiable |= trace.values[output.at()].requires_grad;
      if (!trace.values[output.at()].overwrites.valid()) fresh += trace.values[output.at()].bytes;
    }
    int64_t grown = 0;
    if (differentiable) {
      for (const ValueId input : op.inputs) {
        if (has_gradient[input.at()] != 0 || !trace.values[input.at()].requires_grad) continue;
        has_gradient[input.at()] = 1;
        grown += trace.values[input.at()].bytes;
      }
    }
    for (const auto s : saved_by[i]) events.push_back({Kind::unpack, SavedId(s), base, base});
    const int64_t workspace = differentiable ? std::max<int64_t>(0, op.peak_bytes - fresh) : 0;
    base += grown;
    events.back().gap_bytes = std::max(events.back().gap_bytes, base + workspace);
    for (const auto s : saved_by[i]) events.push_back({Kind::release, SavedId(s), base, base});
    for (const ValueId output : op.outputs) {
      if (has_gradient[output.at()] == 0) continue;
      has_gradient[output.at()] = 0;
      base -= trace.values[output.at()].bytes;
    }
  }
  events.push_back({Kind::end, {}, base, base});
  trace.gradient_bytes = std::max<int64_t>(0, base - base_bytes);
  trace.backward_measured = false;
}

}  // namespace reforward
