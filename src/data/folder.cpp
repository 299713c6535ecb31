#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "data/data.h"
#include "reforward/error.h"

namespace reforward::data {
namespace {

namespace fs = std::filesystem;

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

bool is_jpeg(const fs::path& path) { return extension_of(path) == ".jpg" || extension_of(path) == ".jpeg"; }
bool is_png(const fs::path& path) { return extension_of(path) == ".png"; }

std::vector<fs::path> sorted_entries(const fs::path& folder, bool folders) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (folders ? entry.is_directory() : entry.is_regular_file() && (is_jpeg(entry.path()) || is_png(entry.path()))) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Folder final : public Images {
 public:
  explicit Folder(const fs::path& folder) {
    const std::string expected = "; expected a folder with one sub-folder of JPEG or PNG images for each class.";
    if (!fs::is_directory(folder)) {
      throw InputError("There is no folder '" + folder.string() + "'" + expected);
    }
    const auto classes = sorted_entries(folder, /*folders=*/true);
    for (const auto& name : classes) {
      const auto files = sorted_entries(name, /*folders=*/false);
      if (files.empty()) throw InputError("The class folder '" + name.string() + "' has no images" + expected);
      for (const auto& file : files) items_.emplace_back(file, classes_);
      ++classes_;
    }
    if (items_.empty()) throw InputError("The folder '" + folder.string() + "' is empty" + expected);
  }
  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  int64_t classes() const override { return classes_; }
  std::pair<torch::Tensor, int64_t> get(int64_t i) const override {
    const auto& [path, label] = items_[static_cast<std::size_t>(i)];
    return {is_png(path) ? decode_png(path) : decode_jpeg(path), label};
  }

 private:
  std::vector<std::pair<fs::path, int64_t>> items_;
  int64_t classes_ = 0;
};

}  // namespace

std::unique_ptr<Images> open_folder(const std::filesystem::path& folder) { return std::make_unique<Folder>(folder); }

}  // namespace reforward::data
