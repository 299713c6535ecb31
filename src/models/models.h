#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reforward::models {

/// What a network takes.
enum class Input : uint8_t {
  image,   ///< N x 3 x S x S floats
  clip,    ///< N x 3 x frames x S x S floats
  tokens,  ///< N x length token numbers
};

struct ModelInfo {
  std::string name;
  std::string description;
  Input input = Input::image;
  int64_t parameters = 0;  ///< with default options
  int64_t default_batch = 0;
  int64_t default_image = 0;  ///< pixels a side; tokens: the length of a text
  int64_t least_image = 0;    ///< the smallest that the layers can take
  /// The same for a batch of one: batch norm needs two values a channel, so that
  /// more than one pixel must be left wherever there is one.
  int64_t least_image_alone = 0;
  int64_t classes = 1000;      ///< unless others are asked for; tokens: see DecoderOptions
  int64_t image_multiple = 1;  ///< of which the pixels a side must be a multiple
};

struct Options {
  int64_t classes = 0;  ///< 0: the network's own number
  int64_t image = 0;    ///< 0: default_image
  int64_t batch = 0;    ///< samples in the smallest batch to come; 0: more than one
};

/// A network and what a training step needs of it.
class Network {
 public:
  virtual ~Network() = default;
  virtual torch::nn::Module& module() = 0;
  /// Mean cross-entropy of a batch, a 0-dim tensor.
  virtual torch::Tensor loss(const torch::Tensor& data, const torch::Tensor& target) = 0;
};

/// The known networks, in the order in which to show them.
const std::vector<ModelInfo>& registry();
/// Throws InputError, naming the known ones, for another name.
const ModelInfo& info(const std::string& name);

/// Throws InputError for an unknown name or an image that is too small for the
/// network and the batch, or of a size that the network cannot halve.
/// Parameters are drawn from the global generator, as LibTorch does.
std::unique_ptr<Network> make(const std::string& name, const Options& options = {});

/// A batch of noise, the same for the same seed; the global generator is not
/// touched. Returns (data, target). Throws as `make`.
std::pair<torch::Tensor, torch::Tensor> synthetic_batch(const std::string& name, int64_t batch, const Options& options,
                                                        uint64_t seed);

/// The families; `make` is the way in.
std::unique_ptr<Network> make_alexnet(int64_t classes);
std::unique_ptr<Network> make_vgg(int depth, bool batch_norm, int64_t classes);  ///< 11, 13, 16 or 19
std::unique_ptr<Network> make_resnet(int depth, int64_t classes);                ///< 18, 34, 50, 101 or 152
std::unique_ptr<Network> make_densenet(int depth, int64_t classes);              ///< 121, 161, 169 or 201
std::unique_ptr<Network> make_inception_v3(int64_t classes);
std::unique_ptr<Network> make_nasnet(int64_t classes);
std::unique_ptr<Network> make_amoebanet(int64_t classes);
std::unique_ptr<Network> make_darts(int64_t classes);
std::unique_ptr<Network> make_video_resnet18(int64_t classes);

struct DecoderOptions {
  int64_t vocabulary = 50257;
  int64_t length = 1024;  ///< the longest text
  int64_t width = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  double dropout = 0.1;
};
std::unique_ptr<Network> make_decoder(const DecoderOptions& options);

}  // namespace reforward::models
