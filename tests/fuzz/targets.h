#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace reforward {

/// What the fuzzer does with a text, by the name of the target and of its corpus.
/// Refusing (an Error) is right; anything else that goes wrong aborts.
const std::map<std::string, std::function<void(std::string_view)>>& fuzz_targets();

}  // namespace reforward
