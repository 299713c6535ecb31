// Szegedy et al., "Rethinking the Inception Architecture for Computer Vision" (2016),
// with the auxiliary head. Layer names are those of the well-known definition.

#include <string>
#include <vector>

#include "models/network.h"

namespace reforward::models {
namespace {

namespace nn = torch::nn;
using Kernel = torch::ExpandingArray<2>;

struct BasicConv : nn::Module {
  BasicConv(int64_t in, int64_t out, Kernel kernel, Kernel stride = 1, Kernel padding = 0)
      : conv(register_module(
            "conv", nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding).bias(false)))),
        bn(register_module("bn", nn::BatchNorm2d(nn::BatchNorm2dOptions(out).eps(0.001)))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    auto out = bn(conv(x));
    return torch::relu_(out);
  }
  nn::Conv2d conv;
  nn::BatchNorm2d bn;
};
using Layer = std::shared_ptr<BasicConv>;

const Kernel wide{{1, 7}}, wide_pad{{0, 3}}, tall{{7, 1}}, tall_pad{{3, 0}};

torch::Tensor average(const torch::Tensor& x) { return torch::avg_pool2d(x, 3, 1, 1); }
torch::Tensor halve(const torch::Tensor& x) { return torch::max_pool2d(x, 3, 2); }

/// Registers its layers by name.
struct Block : nn::Module {
  Layer add(const std::string& name, int64_t in, int64_t out, Kernel kernel, Kernel stride = 1, Kernel padding = 0) {
    return register_module(name, std::make_shared<BasicConv>(in, out, kernel, stride, padding));
  }
};

/// One after another.
torch::Tensor through(const std::vector<Layer>& layers, torch::Tensor x) {
  for (const auto& layer : layers) x = layer->forward(x);
  return x;
}

struct InceptionA : Block {
  InceptionA(int64_t in, int64_t pooled) {
    one = add("branch1x1", in, 64, 1);
    five = {add("branch5x5_1", in, 48, 1), add("branch5x5_2", 48, 64, 5, 1, 2)};
    three = {add("branch3x3dbl_1", in, 64, 1), add("branch3x3dbl_2", 64, 96, 3, 1, 1),
             add("branch3x3dbl_3", 96, 96, 3, 1, 1)};
    pool = add("branch_pool", in, pooled, 1);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto a = one->forward(x);
    auto b = through(five, x);
    auto c = through(three, x);
    return torch::cat({a, b, c, pool->forward(average(x))}, 1);
  }
  Layer one, pool;
  std::vector<Layer> five, three;
};

struct InceptionB : Block {
  explicit InceptionB(int64_t in) {
    three = add("branch3x3", in, 384, 3, 2);
    twice = {add("branch3x3dbl_1", in, 64, 1), add("branch3x3dbl_2", 64, 96, 3, 1, 1),
             add("branch3x3dbl_3", 96, 96, 3, 2)};
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto a = three->forward(x);
    auto b = through(twice, x);
    return torch::cat({a, b, halve(x)}, 1);
  }
  Layer three;
  std::vector<Layer> twice;
};

struct InceptionC : Block {
  InceptionC(int64_t in, int64_t c) {
    one = add("branch1x1", in, 192, 1);
    seven = {add("branch7x7_1", in, c, 1), add("branch7x7_2", c, c, wide, 1, wide_pad),
             add("branch7x7_3", c, 192, tall, 1, tall_pad)};
    twice = {add("branch7x7dbl_1", in, c, 1), add("branch7x7dbl_2", c, c, tall, 1, tall_pad),
             add("branch7x7dbl_3", c, c, wide, 1, wide_pad), add("branch7x7dbl_4", c, c, tall, 1, tall_pad),
             add("branch7x7dbl_5", c, 192, wide, 1, wide_pad)};
    pool = add("branch_pool", in, 192, 1);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto a = one->forward(x);
    auto b = through(seven, x);
    auto c = through(twice, x);
    return torch::cat({a, b, c, pool->forward(average(x))}, 1);
  }
  Layer one, pool;
  std::vector<Layer> seven, twice;
};

struct InceptionD : Block {
  explicit InceptionD(int64_t in) {
    three = {add("branch3x3_1", in, 192, 1), add("branch3x3_2", 192, 320, 3, 2)};
    seven = {add("branch7x7x3_1", in, 192, 1), add("branch7x7x3_2", 192, 192, wide, 1, wide_pad),
             add("branch7x7x3_3", 192, 192, tall, 1, tall_pad), add("branch7x7x3_4", 192, 192, 3, 2)};
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto a = through(three, x);
    auto b = through(seven, x);
    return torch::cat({a, b, halve(x)}, 1);
  }
  std::vector<Layer> three, seven;
};

struct InceptionE : Block {
  explicit InceptionE(int64_t in) {
    const Kernel row{{1, 3}}, row_pad{{0, 1}}, column{{3, 1}}, column_pad{{1, 0}};
    one = add("branch1x1", in, 320, 1);
    three = add("branch3x3_1", in, 384, 1);
    three_a = add("branch3x3_2a", 384, 384, row, 1, row_pad);
    three_b = add("branch3x3_2b", 384, 384, column, 1, column_pad);
    twice = {add("branch3x3dbl_1", in, 448, 1), add("branch3x3dbl_2", 448, 384, 3, 1, 1)};
    twice_a = add("branch3x3dbl_3a", 384, 384, row, 1, row_pad);
    twice_b = add("branch3x3dbl_3b", 384, 384, column, 1, column_pad);
    pool = add("branch_pool", in, 192, 1);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto a = one->forward(x);
    auto b = three->forward(x);
    b = torch::cat({three_a->forward(b), three_b->forward(b)}, 1);
    auto c = through(twice, x);
    c = torch::cat({twice_a->forward(c), twice_b->forward(c)}, 1);
    return torch::cat({a, b, c, pool->forward(average(x))}, 1);
  }
  Layer one, three, three_a, three_b, twice_a, twice_b, pool;
  std::vector<Layer> twice;
};

struct InceptionAux : Block {
  InceptionAux(int64_t in, int64_t classes) {
    conv0 = add("conv0", in, 128, 1);
    conv1 = add("conv1", 128, 768, 5);
    fc = register_module("fc", nn::Linear(768, classes));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto out = conv1->forward(conv0->forward(torch::avg_pool2d(x, 5, 3)));
    return fc(torch::adaptive_avg_pool2d(out, {1, 1}).flatten(1));
  }
  Layer conv0, conv1;
  nn::Linear fc{nullptr};
};

struct Inception : Block {
  explicit Inception(int64_t classes) {
    stem = {add("Conv2d_1a_3x3", 3, 32, 3, 2), add("Conv2d_2a_3x3", 32, 32, 3), add("Conv2d_2b_3x3", 32, 64, 3, 1, 1)};
    middle = {add("Conv2d_3b_1x1", 64, 80, 1), add("Conv2d_4a_3x3", 80, 192, 3)};
    mixed5 = {register_module("Mixed_5b", std::make_shared<InceptionA>(192, 32)),
              register_module("Mixed_5c", std::make_shared<InceptionA>(256, 64)),
              register_module("Mixed_5d", std::make_shared<InceptionA>(288, 64))};
    mixed6a = register_module("Mixed_6a", std::make_shared<InceptionB>(288));
    mixed6 = {register_module("Mixed_6b", std::make_shared<InceptionC>(768, 128)),
              register_module("Mixed_6c", std::make_shared<InceptionC>(768, 160)),
              register_module("Mixed_6d", std::make_shared<InceptionC>(768, 160)),
              register_module("Mixed_6e", std::make_shared<InceptionC>(768, 192))};
    aux = register_module("AuxLogits", std::make_shared<InceptionAux>(768, classes));
    mixed7a = register_module("Mixed_7a", std::make_shared<InceptionD>(768));
    mixed7 = {register_module("Mixed_7b", std::make_shared<InceptionE>(1280)),
              register_module("Mixed_7c", std::make_shared<InceptionE>(2048))};
    dropout = register_module("dropout", nn::Dropout(0.5));
    fc = register_module("fc", nn::Linear(2048, classes));
    initialize();
  }

  void initialize() {
    // Normal, cut off at +-2. The well-known definition notes another deviation for
    // AuxLogits.conv1 too, but on a module that its drawing never looks at.
    const auto draw = [](torch::Tensor weight, double deviation) {
      torch::NoGradGuard no_grad;
      weight.normal_(0, deviation).clamp_(-2, 2);
    };
    for (auto& module : modules(false)) {
      if (auto* convolution = module->as<nn::Conv2dImpl>()) draw(convolution->weight, 0.1);
      if (auto* linear = module->as<nn::LinearImpl>()) draw(linear->weight, 0.1);
    }
    draw(aux->fc->weight, 0.001);
  }

  /// (logits, auxiliary logits); the latter undefined in evaluation.
  std::pair<torch::Tensor, torch::Tensor> forward(const torch::Tensor& input) {
    auto x = halve(through(stem, input));
    x = halve(through(middle, x));
    for (const auto& block : mixed5) x = block->forward(x);
    x = mixed6a->forward(x);
    for (const auto& block : mixed6) x = block->forward(x);
    torch::Tensor auxiliary;
    if (is_training()) auxiliary = aux->forward(x);
    x = mixed7a->forward(x);
    for (const auto& block : mixed7) x = block->forward(x);
    x = dropout(torch::adaptive_avg_pool2d(x, {1, 1}));
    return {fc(x.flatten(1)), auxiliary};
  }

  std::vector<Layer> stem, middle;
  std::vector<std::shared_ptr<InceptionA>> mixed5;
  std::shared_ptr<InceptionB> mixed6a;
  std::vector<std::shared_ptr<InceptionC>> mixed6;
  std::shared_ptr<InceptionAux> aux;
  std::shared_ptr<InceptionD> mixed7a;
  std::vector<std::shared_ptr<InceptionE>> mixed7;
  nn::Dropout dropout{nullptr};
  nn::Linear fc{nullptr};
};

class WithAuxiliaryHead final : public Network {
 public:
  explicit WithAuxiliaryHead(int64_t classes) : module_(std::make_shared<Inception>(classes)) {}
  nn::Module& module() override { return *module_; }
  torch::Tensor loss(const torch::Tensor& data, const torch::Tensor& target) override {
    const auto [logits, auxiliary] = module_->forward(data);
    auto loss = nn::functional::cross_entropy(logits, target);
    if (auxiliary.defined()) loss = loss + 0.4 * nn::functional::cross_entropy(auxiliary, target);
    return loss;
  }

 private:
  std::shared_ptr<Inception> module_;
};

}  // namespace

std::unique_ptr<Network> make_inception_v3(int64_t classes) { return std::make_unique<WithAuxiliaryHead>(classes); }

}  // namespace reforward::models
