#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "data/data.h"
#include "reforward/error.h"

namespace reforward::data {
namespace {

// Of ImageNet, as is usual.
constexpr std::array<float, 3> means{0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> deviations{0.229F, 0.224F, 0.225F};

torch::Tensor resized(const torch::Tensor& pixels, int64_t side) {
  if (pixels.size(1) == side && pixels.size(2) == side) return pixels;
  return torch::_upsample_bilinear2d_aa(pixels.unsqueeze(0), {side, side}, /*align_corners=*/false).squeeze(0);
}

}  // namespace

Loader::Loader(const Images& images, int64_t batch, int64_t image, uint64_t seed)
    : images_(images), batch_(batch), image_(image), seed_(seed), order_(static_cast<std::size_t>(images.size())) {
  if (images.size() == 0) throw InputError("The data set has no images; give one that has some.");
}

void Loader::shuffle(int64_t epoch) {
  // Not std::shuffle: what it does with its generator differs between libraries.
  std::iota(order_.begin(), order_.end(), 0);
  std::mt19937_64 generator(seed_ * 1000003 + static_cast<uint64_t>(epoch));
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[generator() % i]);
  epoch_ = epoch;
}

std::pair<torch::Tensor, torch::Tensor> Loader::batch(int64_t step) {
  const int64_t epoch = step / batches_per_epoch();
  if (epoch != epoch_) shuffle(epoch);
  const int64_t first = step % batches_per_epoch() * batch_;
  const int64_t count = std::min(batch_, images_.size() - first);
  auto data = torch::empty({count, 3, image_, image_});
  auto target = torch::empty({count}, torch::kLong);
  for (int64_t i = 0; i < count; ++i) {
    const auto [pixels, label] = images_.get(order_[static_cast<std::size_t>(first + i)]);
    data[i].copy_(resized(pixels, image_));
    target[i] = label;
  }
  for (std::size_t c = 0; c < means.size(); ++c) {
    data.select(1, static_cast<int64_t>(c)).sub_(means[c]).div_(deviations[c]);
  }
  return {data, target};
}

}  // namespace reforward::data
