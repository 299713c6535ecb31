// The decoder against its arithmetic written out, and against GPT-2's numbers.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/models.h"
#include "reforward/error.h"

namespace reforward::models {
namespace {

using torch::Tensor;

int64_t count(const torch::nn::Module& module) {
  int64_t parameters = 0;
  for (const auto& parameter : module.parameters()) parameters += parameter.numel();
  return parameters;
}

/// Two embeddings; a layer of 12 w^2 weights (4 of attention, 8 of the MLP) and
/// 13 w biases and norms; a last norm; the head is the token embedding.
int64_t formula(const DecoderOptions& o) {
  return (o.vocabulary + o.length) * o.width + o.layers * (12 * o.width * o.width + 13 * o.width) + 2 * o.width;
}

TEST(Decoder, HasTheParametersOfGpt2) {
  EXPECT_EQ(formula({}), 124439808);
  EXPECT_EQ(count(make("gpt")->module()), 124439808);
  EXPECT_EQ(info("gpt").parameters, 124439808);
  EXPECT_EQ(count(make("gpt_tiny")->module()), info("gpt_tiny").parameters);
}

TEST(Decoder, CanBeOfAnySize) {
  const DecoderOptions options{.vocabulary = 31, .length = 12, .width = 24, .layers = 3, .heads = 2};
  EXPECT_EQ(count(make_decoder(options)->module()), formula(options));
}

TEST(Decoder, HasTheNamesOfGpt2) {
  const auto network = make_decoder({.vocabulary = 31, .length = 12, .width = 24, .layers = 1, .heads = 2});
  EXPECT_EQ(network->module().named_parameters().keys(),
            (std::vector<std::string>{"wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.ln_1.bias",
                                      "h.0.attn.c_attn.weight", "h.0.attn.c_attn.bias", "h.0.attn.c_proj.weight",
                                      "h.0.attn.c_proj.bias", "h.0.ln_2.weight", "h.0.ln_2.bias", "h.0.mlp.c_fc.weight",
                                      "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.weight", "h.0.mlp.c_proj.bias",
                                      "ln_f.weight", "ln_f.bias"}));
}

Tensor norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto centred = x - x.mean(-1, true);
  return centred / (centred.square().mean(-1, true) + 1e-5).sqrt() * weight + bias;
}

Tensor gelu_tanh(const Tensor& x) {
  return 0.5 * x * (1 + torch::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x.pow(3))));
}

TEST(Decoder, ComputesWhatTheDefinitionSays) {
  torch::manual_seed(1);
  const int64_t length = 7, width = 24, heads = 3, part = width / heads;
  const auto network = make_decoder({.vocabulary = 31, .length = 12, .width = width, .layers = 2, .heads = heads});
  network->module().eval();
  const torch::NoGradGuard no_grad;
  auto parameters = network->module().named_parameters();
  for (auto& parameter : parameters) parameter.value().add_(torch::randn_like(parameter.value()), 0.2);
  const auto of = [&](const std::string& name) { return parameters[name]; };
  const auto linear = [&](const Tensor& x, const std::string& name) {
    return torch::matmul(x, of(name + ".weight").t()) + of(name + ".bias");
  };

  const auto text = torch::randint(31, {length + 1}, torch::kLong);
  const auto tokens = text.slice(0, 0, length), next = text.slice(0, 1);
  auto x = of("wte.weight").index_select(0, tokens) + of("wpe.weight").slice(0, 0, length);
  for (const std::string layer : {"h.0.", "h.1."}) {
    const auto qkv = linear(norm(x, of(layer + "ln_1.weight"), of(layer + "ln_1.bias")), layer + "attn.c_attn");
    std::vector<Tensor> mixed;
    for (int64_t head = 0; head < heads; ++head) {
      const auto q = qkv.narrow(1, head * part, part), k = qkv.narrow(1, width + head * part, part),
                 v = qkv.narrow(1, 2 * width + head * part, part);
      auto scores = torch::matmul(q, k.t()) / std::sqrt(static_cast<double>(part));
      // Nobody sees what comes after.
      scores = scores.masked_fill(torch::ones({length, length}, torch::kBool).triu(1), -INFINITY);
      mixed.push_back(torch::matmul(torch::softmax(scores, -1), v));
    }
    x = x + linear(torch::cat(mixed, 1), layer + "attn.c_proj");
    const auto hidden = linear(norm(x, of(layer + "ln_2.weight"), of(layer + "ln_2.bias")), layer + "mlp.c_fc");
    x = x + linear(gelu_tanh(hidden), layer + "mlp.c_proj");
  }
  const auto logits = torch::matmul(norm(x, of("ln_f.weight"), of("ln_f.bias")), of("wte.weight").t());
  const auto expected = -torch::log_softmax(logits, -1).gather(1, next.unsqueeze(1)).mean();

  EXPECT_NEAR(network->loss(tokens.unsqueeze(0), next.unsqueeze(0)).item<double>(), expected.item<double>(), 1e-4);
}

TEST(Decoder, EveryParameterGetsAGradient) {
  const auto network = make_decoder({.vocabulary = 31, .length = 8, .width = 24, .layers = 2, .heads = 3});
  const auto text = torch::randint(31, {2, 9}, torch::kLong);
  network->loss(text.slice(1, 0, 8), text.slice(1, 1)).backward();
  for (const auto& parameter : network->module().named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().sum().item<double>(), 0) << parameter.key();
  }
}

TEST(Decoder, RefusesHeadsThatDoNotDivideTheWidth) {
  EXPECT_THROW(make_decoder({.width = 64, .heads = 5}), InputError);
}

}  // namespace
}  // namespace reforward::models
