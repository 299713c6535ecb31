#pragma once

#include <filesystem>
#include <string>

namespace reforward {

/// The whole file; InputError if it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace reforward
