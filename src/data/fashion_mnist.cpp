#include <zlib.h>

#include <array>
#include <string>
#include <vector>

#include "data/data.h"
#include "reforward/error.h"

namespace reforward::data {
namespace {

class GzipFile {
 public:
  explicit GzipFile(const std::filesystem::path& path) : path_(path), file_(::gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr) {
      throw InputError(
          "The file '" + path.string() +
          "' cannot be read; install the package dataset-fashion-mnist (apt-get install dataset-fashion-mnist).");
    }
  }
  ~GzipFile() { ::gzclose(file_); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  void read(uint8_t* into, std::size_t count) {
    if (::gzread(file_, into, static_cast<unsigned>(count)) != static_cast<int>(count)) damaged();
  }
  [[noreturn]] void damaged() const {
    throw InputError("The file '" + path_.string() +
                     "' is truncated or not a gzipped IDX file; install the package dataset-fashion-mnist again.");
  }

 private:
  std::filesystem::path path_;
  gzFile file_;
};

/// IDX (LeCun): two zero bytes, the type (8: unsigned bytes), the number of
/// dimensions, each dimension as 32 bits with the highest byte first, the data.
std::vector<uint8_t> read_idx(const std::filesystem::path& path, std::vector<int64_t>& sizes) {
  GzipFile file(path);
  std::array<uint8_t, 4> magic{};
  file.read(magic.data(), magic.size());
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || magic[3] != sizes.size()) file.damaged();
  int64_t count = 1;
  for (auto& size : sizes) {
    std::array<uint8_t, 4> bytes{};
    file.read(bytes.data(), bytes.size());
    size = (int64_t{bytes[0]} << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3];
    if (size > 1'000'000) file.damaged();
    count *= size;
    if (count > 1'000'000'000) file.damaged();
  }
  std::vector<uint8_t> data(static_cast<std::size_t>(count));
  file.read(data.data(), data.size());
  return data;
}

class FashionMnist final : public Images {
 public:
  explicit FashionMnist(const std::filesystem::path& folder) {
    std::vector<int64_t> label_sizes(1);
    sizes_.resize(3);
    pixels_ = read_idx(folder / "train-images-idx3-ubyte.gz", sizes_);
    labels_ = read_idx(folder / "train-labels-idx1-ubyte.gz", label_sizes);
    if (label_sizes[0] != sizes_[0]) {
      throw InputError("Fashion-MNIST in '" + folder.string() + "' has " + std::to_string(sizes_[0]) + " images but " +
                       std::to_string(label_sizes[0]) + " labels; install the package dataset-fashion-mnist again.");
    }
  }
  int64_t size() const override { return sizes_[0]; }
  int64_t classes() const override { return 10; }
  std::pair<torch::Tensor, int64_t> get(int64_t i) const override {
    const int64_t area = sizes_[1] * sizes_[2];
    auto grey = torch::empty({sizes_[1], sizes_[2]});
    auto* to = grey.data_ptr<float>();
    const auto* from = pixels_.data() + i * area;
    for (int64_t p = 0; p < area; ++p) to[p] = static_cast<float>(from[p]) / 255.0F;
    return {grey.expand({3, sizes_[1], sizes_[2]}), labels_[static_cast<std::size_t>(i)]};
  }

 private:
  std::vector<int64_t> sizes_;
  std::vector<uint8_t> pixels_, labels_;
};

}  // namespace

std::unique_ptr<Images> open_fashion_mnist(const std::filesystem::path& folder) {
  return std::make_unique<FashionMnist>(folder);
}

}  // namespace reforward::data
