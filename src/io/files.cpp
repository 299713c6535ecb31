#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "io/file_text.h"
#include "reforward/error.h"
#include "reforward/json.h"

namespace reforward {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& path, int error) {
  throw InputError("The file '" + path.string() + "' cannot be written (" + std::strerror(error) +
                   "); give a place in a folder that exists and may be written to.");
}

/// A file that disappears unless it is renamed.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path target) : target_(std::move(target)) {
    path_ = target_.string() + ".XXXXXX";
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
    if (descriptor_ < 0) cannot_write(target_, errno);
  }
  ~Temporary() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void write(std::string_view contents) {
    while (!contents.empty()) {
      const auto written = ::write(descriptor_, contents.data(), contents.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) cannot_write(target_, errno);
      contents.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void rename() {
    if (::fchmod(descriptor_, 0644) != 0 || ::fsync(descriptor_) != 0) cannot_write(target_, errno);
    if (std::rename(path_.c_str(), target_.c_str()) != 0) cannot_write(target_, errno);
    renamed_ = true;
  }

 private:
  std::filesystem::path target_;
  std::string path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

}  // namespace

void write_file(const std::filesystem::path& path, std::string_view contents) {
  if (std::filesystem::is_directory(path)) cannot_write(path, EISDIR);
  Temporary file(path);
  file.write(contents);
  file.rename();
}

void check_writable(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) cannot_write(path, EISDIR);
  Temporary probe(path);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw InputError("The file '" + path.string() + "' cannot be read; check its name and rights.");
  }
  std::ostringstream contents;
  contents << file.rdbuf();
  return std::move(contents).str();
}

}  // namespace reforward
