// A network of your own, trained in half of the memory that it would take.
#include <reforward/reforward.h>
#include <torch/torch.h>

#include <iostream>

struct NetImpl : torch::nn::Module {
  NetImpl() {
    using namespace torch::nn;
    layers->push_back(Conv2d(Conv2dOptions(3, 16, 3).padding(1)));
    for (int i = 0; i < 8; ++i) {
      layers->push_back(BatchNorm2d(16));
      layers->push_back(ReLU(ReLUOptions(true)));
      layers->push_back(Conv2d(Conv2dOptions(16, 16, 3).padding(1)));
    }
    register_module("layers", layers);
    register_module("head", head);
  }
  torch::Tensor forward(const torch::Tensor& images) { return head(layers->forward(images).mean({2, 3})); }

  torch::nn::Sequential layers;
  torch::nn::Linear head{16, 10};
};
TORCH_MODULE(Net);

int main() {
  reforward::install_memory_meter();  // first, so that the parameters are counted too
  torch::manual_seed(1);
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  reforward::Session session({.budget = reforward::parse_budget("50%")});

  for (int step = 0; step < 5; ++step) {
    const auto images = torch::randn({16, 3, 64, 64});
    const auto classes = torch::randint(10, {16});
    optimizer.zero_grad();
    float loss_now = 0;
    const auto report = session.step([&] {
      const auto loss = torch::cross_entropy_loss(net(images), classes);
      loss.backward();
      loss_now = loss.item<float>();
    });
    optimizer.step();
    std::cout << "loss " << loss_now << ", peak " << reforward::format_bytes(report.measured_peak_bytes)
              << ", predicted " << reforward::format_bytes(report.predicted_peak_bytes) << '\n';
  }
  const auto plain = reforward::evaluate(*session.trace(), reforward::plan_keep(*session.trace()));
  std::cout << "a plain step needs " << reforward::format_bytes(plain.peak_bytes) << ", a planned one "
            << reforward::format_bytes(session.plan()->predicted_peak_bytes) << '\n';
}
