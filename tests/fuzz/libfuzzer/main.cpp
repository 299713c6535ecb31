// The entry of libFuzzer, one program a target (FUZZ_TARGET): `make fuzz`.

#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  reforward::fuzz_targets().at(FUZZ_TARGET)({reinterpret_cast<const char*>(data), size});
  return 0;
}
