#include "models/models.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "reforward/error.h"

namespace reforward::models {
namespace {

constexpr int64_t frames = 8;

DecoderOptions decoder_options(const std::string& name, const Options& options) {
  DecoderOptions decoder;
  if (name == "gpt_tiny") decoder = {.vocabulary = 1000, .length = 128, .width = 64, .layers = 12, .heads = 4};
  if (options.classes > 0) decoder.vocabulary = options.classes;
  decoder.length = std::max(decoder.length, options.image);
  return decoder;
}

int64_t image_of(const ModelInfo& model, int64_t batch, const Options& options) {
  const int64_t image = options.image > 0 ? options.image : model.default_image;
  if (image < model.least_image) {
    throw InputError("Images of " + std::to_string(image) + " pixels are too small for " + model.name +
                     "; give at least " + std::to_string(model.least_image) + ".");
  }
  if (batch == 1 && image < model.least_image_alone) {
    throw InputError("A batch of one image of " + std::to_string(image) + " pixels leaves the batch norm of " +
                     model.name + " a single value a channel; give two images, or at least " +
                     std::to_string(model.least_image_alone) + " pixels.");
  }
  return image;
}

int64_t classes_of(const ModelInfo& model, const Options& options) {
  return options.classes > 0 ? options.classes : model.input == Input::clip ? 400 : 1000;
}

}  // namespace

const std::vector<ModelInfo>& registry() {
  static const std::vector<ModelInfo> models{
      {"alexnet", "AlexNet", Input::image, 61100840, 64, 224, 63, 63},
      {"vgg16", "VGG-16", Input::image, 138357544, 8, 224, 32, 32},
      {"vgg16_bn", "VGG-16 with batch norm", Input::image, 138365992, 8, 224, 32, 32},
      {"resnet18", "ResNet-18", Input::image, 11689512, 16, 224, 1, 33},
      {"resnet50", "ResNet-50", Input::image, 25557032, 16, 224, 1, 33},
      {"densenet121", "DenseNet-121", Input::image, 7978856, 16, 224, 29, 61},
      {"inception_v3", "Inception-v3 with its auxiliary head", Input::image, 27161264, 8, 299, 299, 347},
      {"gpt", "GPT-2 small: 12 layers, 768 wide", Input::tokens, 124439808, 4, 256, 1, 1},
      {"gpt_tiny", "the same, 64 wide: little work in many ops", Input::tokens, 672128, 1, 64, 1, 1},
      {"r3d18", "3-D ResNet-18 for clips of 8 frames", Input::clip, 33371472, 4, 112, 1, 17},
  };
  return models;
}

const ModelInfo& info(const std::string& name) {
  const auto& models = registry();
  const auto found = std::find_if(models.begin(), models.end(), [&](const auto& model) { return model.name == name; });
  if (found != models.end()) return *found;
  std::string known;
  for (const auto& model : models) known += (known.empty() ? "" : ", ") + model.name;
  throw InputError("There is no model '" + name + "'; take one of " + known + ".");
}

std::unique_ptr<Network> make(const std::string& name, const Options& options) {
  const ModelInfo& model = info(name);
  image_of(model, options.batch, options);
  const int64_t classes = classes_of(model, options);
  if (name == "alexnet") return make_alexnet(classes);
  if (name == "vgg16") return make_vgg16(classes, false);
  if (name == "vgg16_bn") return make_vgg16(classes, true);
  if (name == "resnet18") return make_resnet18(classes);
  if (name == "resnet50") return make_resnet50(classes);
  if (name == "densenet121") return make_densenet121(classes);
  if (name == "inception_v3") return make_inception_v3(classes);
  if (name == "r3d18") return make_video_resnet18(classes);
  invariant(model.input == Input::tokens, "a registered model cannot be made");
  return make_decoder(decoder_options(name, options));
}

std::pair<torch::Tensor, torch::Tensor> synthetic_batch(const std::string& name, int64_t batch, const Options& options,
                                                        uint64_t seed) {
  const ModelInfo& model = info(name);
  const int64_t image = image_of(model, batch, options);
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  if (model.input == Input::tokens) {
    const int64_t vocabulary = decoder_options(name, options).vocabulary;
    const auto text = torch::randint(vocabulary, {batch, image + 1}, generator, torch::kLong);
    return {text.narrow(1, 0, image).contiguous(), text.narrow(1, 1, image).contiguous()};
  }
  const auto data = model.input == Input::clip ? torch::randn({batch, 3, frames, image, image}, generator)
                                               : torch::randn({batch, 3, image, image}, generator);
  return {data, torch::randint(classes_of(model, options), {batch}, generator, torch::kLong)};
}

}  // namespace reforward::models
