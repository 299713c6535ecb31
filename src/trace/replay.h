#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "trace/tape.h"

namespace reforward {

/// A generator's state, outside the device's memory.
using GeneratorState = std::string;

/// The generator that a call of `op` draws from: the one among its arguments,
/// else the default one of the device it works on.
at::Generator generator_of(const TapeOp& op, const std::vector<c10::IValue>& constants, c10::DeviceType device);
/// Bytes of the tensor that reading the CPU generator's state makes.
int64_t generator_state_bytes();
GeneratorState save_generator(at::Generator generator);
void restore_generator(at::Generator generator, const GeneratorState& state);

/// Runs a recorded op again, below autograd, on the given operand tensors
/// (one per TapeOp::operands), with `random_state` in its generator if it is
/// given, and the generator as it was afterwards.
/// Returns its results, flattened: undefined tensors for what is not a tensor.
std::vector<at::Tensor> replay(const TapeOp& op, const std::vector<c10::IValue>& constants,
                               const std::vector<at::Tensor>& operands, const GeneratorState* random_state,
                               c10::DeviceType device);

/// The constants of an op, one per argument (None where it takes tensors).
std::vector<c10::IValue> constants_of(const TapeOp& op);

}  // namespace reforward
