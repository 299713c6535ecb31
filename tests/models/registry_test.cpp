// The way in: names, options, refusals, batches.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/models.h"
#include "reforward/error.h"

namespace reforward::models {
namespace {

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(Registry, ShowsEveryNetworkOnce) {
  std::vector<std::string> names;
  for (const auto& model : registry()) names.push_back(model.name);
  EXPECT_THAT(names, ::testing::ElementsAre("alexnet", "vgg11", "vgg13", "vgg16", "vgg16_bn", "vgg19", "resnet18",
                                            "resnet34", "resnet50", "resnet101", "resnet152", "densenet121",
                                            "densenet161", "densenet169", "densenet201", "inception_v3", "nasnet",
                                            "amoebanet", "darts", "gpt", "gpt_tiny", "r3d18"));
  for (const auto& model : registry()) {
    EXPECT_EQ(&info(model.name), &model);
    EXPECT_GE(model.default_image, model.least_image) << model.name;
    EXPECT_GE(model.least_image_alone, model.least_image) << model.name;
    EXPECT_TRUE(model.default_batch > 1 || model.default_image >= model.least_image_alone) << model.name;
    for (const auto image : {model.default_image, model.least_image, model.least_image_alone}) {
      EXPECT_EQ(image % model.image_multiple, 0) << model.name;
    }
    EXPECT_FALSE(model.description.empty()) << model.name;
  }
}

TEST(Registry, RefusesAnUnknownNameAndNamesTheKnown) {
  const std::string sentence =
      "There is no model 'resnet19'; take one of alexnet, vgg11, vgg13, vgg16, vgg16_bn, vgg19, resnet18, resnet34, "
      "resnet50, resnet101, resnet152, densenet121, densenet161, densenet169, densenet201, inception_v3, nasnet, "
      "amoebanet, darts, gpt, gpt_tiny, r3d18.";
  EXPECT_EQ(refusal([] { info("resnet19"); }), sentence);
  EXPECT_EQ(refusal([] { make("resnet19"); }), sentence);
  EXPECT_EQ(refusal([] { synthetic_batch("resnet19", 1, {}, 0); }), sentence);
}

TEST(Registry, RefusesAnImageThatIsTooSmall) {
  const std::string sentence = "Images of 64 pixels are too small for inception_v3; give at least 299.";
  EXPECT_EQ(refusal([] { make("inception_v3", {.image = 64}); }), sentence);
  EXPECT_EQ(refusal([] { synthetic_batch("inception_v3", 2, {.image = 64}, 0); }), sentence);
}

TEST(Registry, RefusesAnImageThatCannotBeHalved) {
  const std::string sentence =
      "Images of 30 pixels cannot be halved as often as darts halves them; give a multiple of 4.";
  EXPECT_EQ(refusal([] { make("darts", {.image = 30}); }), sentence);
  EXPECT_EQ(refusal([] { synthetic_batch("darts", 2, {.image = 30}, 0); }), sentence);
  EXPECT_EQ(refusal([] { make("darts", {.image = 28}); }), "no refusal");
}

TEST(Registry, RefusesALoneImageThatBatchNormCannotTake) {
  const std::string sentence =
      "A batch of one image of 32 pixels leaves the batch norm of resnet18 a single value a channel; give two images, "
      "or at least 33 pixels.";
  EXPECT_EQ(refusal([] { make("resnet18", {.image = 32, .batch = 1}); }), sentence);
  EXPECT_EQ(refusal([] { synthetic_batch("resnet18", 1, {.image = 32}, 0); }), sentence);
  EXPECT_EQ(refusal([] { make("resnet18", {.image = 33, .batch = 1}); }), "no refusal");
}

TEST(Registry, HasAsManyClassesAsAsked) {
  for (const std::string name : {"resnet18", "densenet121", "r3d18"}) {
    const Options options{.classes = 7, .image = 32};
    const auto network = make(name, options);
    EXPECT_EQ(network->module().parameters().back().sizes(), (std::vector<int64_t>{7})) << name;
    const auto [data, target] = synthetic_batch(name, 40, options, 1);
    EXPECT_LT(target.max().item<int64_t>(), 7);
  }
}

TEST(Registry, HasItsOwnClassesOtherwise) {
  const auto most = [](const std::string& name) {
    return synthetic_batch(name, 4000, {.image = info(name).least_image}, 1).second.max().item<int64_t>();
  };
  EXPECT_EQ(make("darts")->module().parameters().back().size(0), 10);
  EXPECT_EQ(most("darts"), 9);
  EXPECT_NEAR(static_cast<double>(most("r3d18")), 400, 10);
  EXPECT_NEAR(static_cast<double>(most("resnet18")), 1000, 20);
}

TEST(Registry, BatchesHaveTheShapeThatTheNetworkTakes) {
  const auto shape = [](const std::string& name, int64_t image) {
    return synthetic_batch(name, 3, {.image = image}, 0).first.sizes().vec();
  };
  EXPECT_EQ(shape("alexnet", 70), (std::vector<int64_t>{3, 3, 70, 70}));
  EXPECT_EQ(shape("r3d18", 0), (std::vector<int64_t>{3, 3, 8, 112, 112}));
  EXPECT_EQ(shape("gpt_tiny", 20), (std::vector<int64_t>{3, 20}));
  const auto [tokens, next] = synthetic_batch("gpt_tiny", 3, {.image = 20}, 0);
  EXPECT_TRUE(tokens.slice(1, 1).equal(next.slice(1, 0, 19))) << "the target is the next token";
}

TEST(Registry, ATextCanBeLongerThanUsual) {
  const Options options{.image = 200};
  const auto network = make("gpt_tiny", options);
  const auto [tokens, next] = synthetic_batch("gpt_tiny", 1, options, 0);
  EXPECT_NEAR(network->loss(tokens, next).item<double>(), std::log(1000.0), 0.5);
}

TEST(Registry, BatchesFollowTheirSeedAlone) {
  for (const std::string name : {"resnet18", "gpt_tiny", "r3d18"}) {
    const Options options{.image = 32};
    torch::manual_seed(1);
    const auto before = at::globalContext().defaultGenerator(at::kCPU).get_state();
    const auto a = synthetic_batch(name, 2, options, 5);
    EXPECT_TRUE(before.equal(at::globalContext().defaultGenerator(at::kCPU).get_state())) << name;
    torch::manual_seed(2);
    const auto b = synthetic_batch(name, 2, options, 5);
    const auto c = synthetic_batch(name, 2, options, 6);
    EXPECT_TRUE(a.first.equal(b.first) && a.second.equal(b.second)) << name;
    EXPECT_FALSE(a.first.equal(c.first)) << name;
  }
}

}  // namespace
}  // namespace reforward::models
