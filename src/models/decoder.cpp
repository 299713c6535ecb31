// A decoder-only transformer as in Radford et al., "Language Models are Unsupervised
// Multitask Learners" (2019): learned positions, norms before each part, tied head.

#include <cmath>
#include <string>
#include <vector>

#include "models/network.h"
#include "reforward/error.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;

nn::LayerNorm norm(int64_t width) { return nn::LayerNorm(nn::LayerNormOptions({width})); }

struct Block : nn::Module {
  explicit Block(const DecoderOptions& options)
      : heads(options.heads),
        dropout(options.dropout),
        ln_1(register_module("ln_1", norm(options.width))),
        c_attn(register_module("attn_c_attn", nn::Linear(options.width, 3 * options.width))),
        c_proj(register_module("attn_c_proj", nn::Linear(options.width, options.width))),
        ln_2(register_module("ln_2", norm(options.width))),
        c_fc(register_module("mlp_c_fc", nn::Linear(options.width, 4 * options.width))),
        mlp_proj(register_module("mlp_c_proj", nn::Linear(4 * options.width, options.width))) {}

  torch::Tensor attend(const torch::Tensor& x) {
    const auto n = x.size(0), length = x.size(1), width = x.size(2);
    const auto parts = c_attn(x).view({n, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const auto mixed = torch::scaled_dot_product_attention(parts[0], parts[1], parts[2], {},
                                                           is_training() ? dropout : 0.0, /*is_causal=*/true);
    return c_proj(mixed.transpose(1, 2).reshape({n, length, width}));
  }
  torch::Tensor forward(const torch::Tensor& input) {
    auto x = input + torch::dropout(attend(ln_1(input)), dropout, is_training());
    const auto hidden = torch::gelu(c_fc(ln_2(x)), "tanh");
    return x + torch::dropout(mlp_proj(hidden), dropout, is_training());
  }
  int64_t heads;
  double dropout;
  nn::LayerNorm ln_1;
  nn::Linear c_attn, c_proj;
  nn::LayerNorm ln_2;
  nn::Linear c_fc, mlp_proj;
};

struct Decoder : nn::Module {
  explicit Decoder(const DecoderOptions& options) : dropout(options.dropout) {
    if (options.width % options.heads != 0) {
      throw InputError("A decoder of width " + std::to_string(options.width) + " cannot have " +
                       std::to_string(options.heads) + " heads; take a number of heads that divides the width.");
    }
    wte = register_module("wte", nn::Embedding(options.vocabulary, options.width));
    wpe = register_module("wpe", nn::Embedding(options.length, options.width));
    for (int64_t i = 0; i < options.layers; ++i) {
      std::string name = "h";
      name += std::to_string(i);
      blocks.push_back(register_module(name, std::make_shared<Block>(options)));
    }
    ln_f = register_module("ln_f", norm(options.width));
    torch::NoGradGuard no_grad;
    for (auto& parameter : named_parameters()) {
      if (parameter.value().dim() < 2) continue;
      // Projections into the residual sum are drawn narrower, by their number.
      const bool residual = parameter.key().find("c_proj") != std::string::npos;
      parameter.value().normal_(0, residual ? 0.02 / std::sqrt(2.0 * static_cast<double>(options.layers)) : 0.02);
    }
    for (auto& parameter : named_parameters()) {
      if (parameter.key().find("bias") != std::string::npos) parameter.value().zero_();
    }
  }
  /// Tokens N x L to logits N x L x vocabulary.
  torch::Tensor forward(const torch::Tensor& tokens) {
    const auto positions = torch::arange(tokens.size(1), tokens.options());
    auto x = torch::dropout(wte(tokens) + wpe(positions), dropout, is_training());
    for (const auto& block : blocks) x = block->forward(x);
    return torch::linear(ln_f(x), wte->weight);
  }
  double dropout;
  nn::Embedding wte{nullptr}, wpe{nullptr};
  std::vector<std::shared_ptr<Block>> blocks;
  nn::LayerNorm ln_f{nullptr};
};

class LanguageModel final : public Network {
 public:
  explicit LanguageModel(const DecoderOptions& options) : module_(std::make_shared<Decoder>(options)) {}
  nn::Module& module() override { return *module_; }
  torch::Tensor loss(const torch::Tensor& data, const torch::Tensor& target) override {
    const auto logits = module_->forward(data);
    return nn::functional::cross_entropy(logits.flatten(0, 1), target.flatten());
  }

 private:
  std::shared_ptr<Decoder> module_;
};

}  // namespace

std::unique_ptr<Network> make_decoder(const DecoderOptions& options) {
  return std::make_unique<LanguageModel>(options);
}

}  // namespace reforward::models
