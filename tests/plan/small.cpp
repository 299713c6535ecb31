#include "plan/small.h"

#include <algorithm>

namespace reforward::made_up {

ValueId Small::external(int64_t bytes) {
  Value value;
  value.bytes = bytes;
  trace.values.push_back(value);
  return ValueId(trace.values.size() - 1);
}

ValueId Small::op(std::initializer_list<ValueId> inputs, int64_t bytes, int64_t workspace, double seconds) {
  const ValueId made = external(bytes);
  trace.values.back().maker = OpId(trace.ops.size());
  Op op;
  op.name = "aten::op";
  op.inputs = inputs;
  op.outputs = {made};
  op.seconds = seconds;
  op.peak_bytes = bytes + workspace;
  trace.ops.push_back(op);
  return made;
}

ValueId Small::in_place(ValueId onto, std::initializer_list<ValueId> others) {
  const ValueId made = op({onto}, trace.values[onto.at()].bytes);
  trace.ops.back().inputs.insert(trace.ops.back().inputs.end(), others);
  trace.ops.back().peak_bytes = 0;
  trace.values[made.at()].overwrites = onto;
  trace.values[onto.at()].overwritten = true;
  return made;
}

void Small::save(ValueId value) { trace.saved.push_back({value, OpId(trace.ops.size() - 1)}); }

Trace Small::finish() {
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    for (const ValueId output : trace.ops[i].outputs) trace.values[output.at()].dies = static_cast<int32_t>(i) + 1;
    for (const ValueId input : trace.ops[i].inputs) {
      Value& value = trace.values[input.at()];
      if (!value.external()) value.dies = static_cast<int32_t>(i) + (value.overwritten ? 0 : 1);
    }
  }
  // The overwriting op decides, not a later reader of the new version.
  for (const Value& value : trace.values) {
    if (value.overwrites.valid() && !trace.values[value.overwrites.at()].external()) {
      trace.values[value.overwrites.at()].dies = value.maker.index;
    }
  }
  using Kind = BackwardEvent::Kind;
  trace.backward.push_back({Kind::begin, {}, 0, 0});
  for (std::size_t i = trace.ops.size(); i-- > 0;) {
    for (const auto kind : {Kind::unpack, Kind::release}) {
      for (std::size_t s = 0; s < trace.saved.size(); ++s) {
        if (trace.saved[s].op == OpId(i)) trace.backward.push_back({kind, SavedId(s), 0, 0});
      }
    }
  }
  trace.backward.push_back({Kind::end, {}, 0, 0});
  validate(trace);
  return trace;
}

}  // namespace reforward::made_up
