#include "models/models.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <map>

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
  if (image % model.image_multiple != 0) {
    throw InputError("Images of " + std::to_string(image) + " pixels cannot be halved as often as " + model.name +
                     " halves them; give a multiple of " + std::to_string(model.image_multiple) + ".");
  }
  if (batch == 1 && image < model.least_image_alone) {
    throw InputError("A batch of one image of " + std::to_string(image) + " pixels leaves the batch norm of " +
                     model.name + " a single value a channel; give two images, or at least " +
                     std::to_string(model.least_image_alone) + " pixels.");
  }
  return image;
}

int64_t classes_of(const ModelInfo& model, const Options& options) {
  return options.classes > 0 ? options.classes : model.classes;
}

using Maker = std::unique_ptr<Network> (*)(int64_t classes);

/// All but the decoders, which take more than a number of classes.
const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> by_name{
      {"alexnet", [](int64_t classes) { return make_alexnet(classes); }},
      {"vgg11", [](int64_t classes) { return make_vgg(11, false, classes); }},
      {"vgg13", [](int64_t classes) { return make_vgg(13, false, classes); }},
      {"vgg16", [](int64_t classes) { return make_vgg(16, false, classes); }},
      {"vgg16_bn", [](int64_t classes) { return make_vgg(16, true, classes); }},
      {"vgg19", [](int64_t classes) { return make_vgg(19, false, classes); }},
      {"resnet18", [](int64_t classes) { return make_resnet(18, classes); }},
      {"resnet34", [](int64_t classes) { return make_resnet(34, classes); }},
      {"resnet50", [](int64_t classes) { return make_resnet(50, classes); }},
      {"resnet101", [](int64_t classes) { return make_resnet(101, classes); }},
      {"resnet152", [](int64_t classes) { return make_resnet(152, classes); }},
      {"densenet121", [](int64_t classes) { return make_densenet(121, classes); }},
      {"densenet161", [](int64_t classes) { return make_densenet(161, classes); }},
      {"densenet169", [](int64_t classes) { return make_densenet(169, classes); }},
      {"densenet201", [](int64_t classes) { return make_densenet(201, classes); }},
      {"inception_v3", [](int64_t classes) { return make_inception_v3(classes); }},
      {"nasnet", [](int64_t classes) { return make_nasnet(classes); }},
      {"amoebanet", [](int64_t classes) { return make_amoebanet(classes); }},
      {"darts", [](int64_t classes) { return make_darts(classes); }},
      {"r3d18", [](int64_t classes) { return make_video_resnet18(classes); }},
  };
  return by_name;
}

}  // namespace

const std::vector<ModelInfo>& registry() {
  static const std::vector<ModelInfo> models{
      {"alexnet", "AlexNet", Input::image, 61100840, 64, 224, 63, 63},
      {"vgg11", "VGG-11", Input::image, 132863336, 8, 224, 32, 32},
      {"vgg13", "VGG-13", Input::image, 133047848, 8, 224, 32, 32},
      {"vgg16", "VGG-16", Input::image, 138357544, 8, 224, 32, 32},
      {"vgg16_bn", "VGG-16 with batch norm", Input::image, 138365992, 8, 224, 32, 32},
      {"vgg19", "VGG-19", Input::image, 143667240, 8, 224, 32, 32},
      {"resnet18", "ResNet-18", Input::image, 11689512, 16, 224, 1, 33},
      {"resnet34", "ResNet-34", Input::image, 21797672, 16, 224, 1, 33},
      {"resnet50", "ResNet-50", Input::image, 25557032, 16, 224, 1, 33},
      {"resnet101", "ResNet-101", Input::image, 44549160, 8, 224, 1, 33},
      {"resnet152", "ResNet-152", Input::image, 60192808, 8, 224, 1, 33},
      {"densenet121", "DenseNet-121", Input::image, 7978856, 16, 224, 29, 61},
      {"densenet161", "DenseNet-161", Input::image, 28681000, 8, 224, 29, 61},
      {"densenet169", "DenseNet-169", Input::image, 14149480, 8, 224, 29, 61},
      {"densenet201", "DenseNet-201", Input::image, 20013928, 8, 224, 29, 61},
      {"inception_v3", "Inception-v3 with its auxiliary head", Input::image, 27161264, 8, 299, 299, 347},
      {"nasnet", "NASNet-A for CIFAR: 20 cells, 36 channels", Input::image, 3830950, 64, 32, 4, 8, 10, 4},
      {"amoebanet", "AmoebaNet-A for CIFAR: 20 cells, 36 channels", Input::image, 3145078, 64, 32, 4, 8, 10, 4},
      {"darts", "DARTS for CIFAR: 20 cells, 36 channels", Input::image, 3349342, 64, 32, 4, 8, 10, 4},
      {"gpt", "GPT-2 small: 12 layers, 768 wide", Input::tokens, 124439808, 4, 256, 1, 1},
      {"gpt_tiny", "the same, 64 wide: little work in many ops", Input::tokens, 672128, 1, 64, 1, 1},
      {"r3d18", "3-D ResNet-18 for clips of 8 frames", Input::clip, 33371472, 4, 112, 1, 17, 400},
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
  const auto maker = makers().find(name);
  if (maker != makers().end()) return maker->second(classes);
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
