#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reforward::data {

/// Images with their classes, read one at a time.
class Images {
 public:
  virtual ~Images() = default;
  virtual int64_t size() const = 0;
  virtual int64_t classes() const = 0;
  /// Image i as 3 x height x width floats in [0, 1], and its class. Throws
  /// InputError, naming the file, for one that cannot be decoded.
  virtual std::pair<torch::Tensor, int64_t> get(int64_t i) const = 0;
};

/// Fashion-MNIST's training images, grey repeated over three channels, from the
/// gzipped IDX files of Debian's package dataset-fashion-mnist.
std::unique_ptr<Images> open_fashion_mnist(const std::filesystem::path& folder = "/usr/share/datasets/fashion-mnist");

/// JPEG and PNG images in one sub-folder a class, classes in the order of their names.
std::unique_ptr<Images> open_folder(const std::filesystem::path& folder);

/// Batches of `images`, resized to image x image (bilinear, antialiased) and
/// normalised to about mean 0 and deviation 1. Each epoch is shuffled by the seed
/// alone: the global generator is not touched. The last batch of an epoch may be
/// smaller.
class Loader {
 public:
  Loader(const Images& images, int64_t batch, int64_t image, uint64_t seed);
  int64_t batches_per_epoch() const { return (images_.size() + batch_ - 1) / batch_; }
  /// Batch number `step`, counted over all epochs: (N x 3 x S x S floats, N classes).
  std::pair<torch::Tensor, torch::Tensor> batch(int64_t step);

 private:
  void shuffle(int64_t epoch);

  const Images& images_;
  int64_t batch_, image_;
  uint64_t seed_;
  int64_t epoch_ = -1;
  std::vector<int64_t> order_;
};

/// An image file's pixels: 3 x height x width floats in [0, 1].
torch::Tensor decode_jpeg(const std::filesystem::path& path);
torch::Tensor decode_png(const std::filesystem::path& path);

}  // namespace reforward::data
