// A decoder-only transformer as in Radford et al., "Language Models are Unsupervised
// Multitask Learners" (2019): learned positions, norms before each part, tied head.
// Layer names are GPT-2's.

#include <cmath>
#include <string>
#include <vector>

#include "models/network.h"
#include "reforward/error.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;

nn::LayerNorm norm(int64_t width) { return nn::LayerNorm(nn::LayerNormOptions({width})); }

struct Attention : nn::Module {
  explicit Attention(const DecoderOptions& options)
      : heads(options.heads),
        dropout(options.dropout),
        c_attn(register_module("c_attn", nn::Linear(options.width, 3 * options.width))),
        c_proj(register_module("c_proj", nn::Linear(options.width, options.width))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    const auto n = x.size(0), length = x.size(1), width = x.size(2);
    const auto parts = c_attn(x).view({n, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const auto mixed = torch::scaled_dot_product_attention(parts[0], parts[1], parts[2], {},
                                                           is_training() ? dropout : 0.0, /*is_causal=*/true);
    return torch::dropout(c_proj(mixed.transpose(1, 2).reshape({n, length, width})), dropout, is_training());
  }
  int64_t heads;
  double dropout;
  nn::Linear c_attn, c_proj;
};

struct Mlp : nn::Module {
  explicit Mlp(const DecoderOptions& options)
      : dropout(options.dropout),
        c_fc(register_module("c_fc", nn::Linear(options.width, 4 * options.width))),
        c_proj(register_module("c_proj", nn::Linear(4 * options.width, options.width))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::dropout(c_proj(torch::gelu(c_fc(x), "tanh")), dropout, is_training());
  }
  double dropout;
  nn::Linear c_fc, c_proj;
};

struct Block : nn::Module {
  explicit Block(const DecoderOptions& options)
      : ln_1(register_module("ln_1", norm(options.width))),
        attn(register_module("attn", std::make_shared<Attention>(options))),
        ln_2(register_module("ln_2", norm(options.width))),
        mlp(register_module("mlp", std::make_shared<Mlp>(options))) {}
  torch::Tensor forward(const torch::Tensor& input) {
    const auto x = input + attn->forward(ln_1(input));
    return x + mlp->forward(ln_2(x));
  }
  nn::LayerNorm ln_1;
  std::shared_ptr<Attention> attn;
  nn::LayerNorm ln_2;
  std::shared_ptr<Mlp> mlp;
};

struct Decoder : nn::Module {
  explicit Decoder(const DecoderOptions& options) : dropout(options.dropout) {
    if (options.width % options.heads != 0) {
      throw InputError("A decoder of width " + std::to_string(options.width) + " cannot have " +
                       std::to_string(options.heads) + " heads; take a number of heads that divides the width.");
    }
    wte = register_module("wte", nn::Embedding(options.vocabulary, options.width));
    wpe = register_module("wpe", nn::Embedding(options.length, options.width));
    h = register_module("h", nn::ModuleList());
    for (int64_t i = 0; i < options.layers; ++i) {
      blocks.push_back(std::make_shared<Block>(options));
      h->push_back(blocks.back());
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
  nn::ModuleList h{nullptr};
  std::vector<std::shared_ptr<Block>> blocks;  ///< those of `h`, by their type
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
