// Steps that a recompute could get wrong. Each right answer is the plain step's.

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>
#include <torch/torch.h>

#include "run/equal_step.h"

namespace reforward::testing {
namespace {

namespace nn = torch::nn;

// An operator whose second run differs from its first.
int64_t noisy_calls = 0;
torch::Tensor noisy(const torch::Tensor& x) { return x + static_cast<double>(++noisy_calls); }
TORCH_LIBRARY(reforward_test, library) { library.def("noisy(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(reforward_test, CPU, library) { library.impl("noisy", noisy); }

torch::Tensor call_noisy(const torch::Tensor& x) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("reforward_test::noisy", "")
                             .typed<torch::Tensor(const torch::Tensor&)>();
  return op.call(x);
}

/// Parameters and a forward written in the test.
struct Free : nn::Module {
  explicit Free(std::vector<std::vector<int64_t>> shapes) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      std::string name = "w";
      name += std::to_string(i);
      w.push_back(register_parameter(name, torch::randn(shapes[i]) * 0.3));
    }
    buffer = register_buffer("buffer", torch::ones({8}));
  }
  std::vector<torch::Tensor> w;
  torch::Tensor buffer;
};

Net free_net(const std::shared_ptr<Free>& module, std::function<torch::Tensor(const torch::Tensor&)> loss) {
  return {"free", module, std::move(loss), [](int64_t n) { return torch::randn({n, 8}); }};
}

class HardSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    install_memory_meter();
    torch::manual_seed(5);
  }
  /// Three steps at `min`, each compared with plain.
  void expect_equal_steps(Net& net, int steps = 3, const std::string& budget = "min") {
    auto session = make_session(budget);
    for (int i = 0; i < steps; ++i) {
      const auto report = expect_equal_step(net, session, net.batch(4));
      if (i > 0) {
        EXPECT_EQ(report.kind, StepReport::Kind::planned) << i;
        EXPECT_EQ(report.measured_peak_bytes, report.predicted_peak_bytes) << i;
      }
      for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
    }
  }
  std::shared_ptr<Free> free_ = std::make_shared<Free>(std::vector<std::vector<int64_t>>{{8, 8}, {8, 8}, {8, 8}});
  const torch::Tensor& w(std::size_t i) { return free_->w[i]; }
};

TEST_F(HardSteps, WritesToPartsOfAView) {
  auto net = free_net(free_, [this](const torch::Tensor& x) {
    auto y = torch::mm(x, w(0));
    y.select(1, 0).fill_(0.5);
    y.narrow(1, 2, 2).mul_(w(1).select(0, 0).narrow(0, 0, 2));
    auto z = torch::mm(y, w(1)).sigmoid();
    z = z.masked_fill(z > 0.6, 0.25);
    return torch::mm(z, w(2)).square().mean();
  });
  expect_equal_steps(net);
}

TEST_F(HardSteps, ATensorThatIsFilledThroughAPointer) {
  auto net = free_net(free_, [this](const torch::Tensor& x) {
    // torch::tensor makes an empty tensor and writes to its memory: no call shows what.
    const auto scale = torch::tensor({0.5F, 2.0F, 1.0F, 3.0F, 0.1F, 0.2F, 0.3F, 0.4F});
    auto shift = torch::zeros({8});
    for (int64_t i = 0; i < 8; ++i) shift.data_ptr<float>()[i] = static_cast<float>(i) * 0.1F;
    const auto y = torch::mm(x, w(0)) * scale.exp() + shift.sin();
    return torch::mm(torch::mm(y.tanh() * scale, w(1)).sigmoid() * shift, w(2)).square().mean();
  });
  expect_equal_steps(net);
}

TEST_F(HardSteps, BatchNormThatEvaluatesAndThenTrains) {
  auto module = std::make_shared<nn::Module>();
  nn::BatchNorm1d norm(8);
  module->register_module("norm", norm.ptr());
  const auto weight = module->register_parameter("weight", torch::randn({8, 8}));
  Net net{"norm", module,
          [=](const torch::Tensor& x) mutable {
            norm->eval();
            const auto calm = norm(torch::mm(x, weight)).tanh();  // reads the statistics
            norm->train();
            const auto busy = norm(torch::mm(x * 2, weight)).tanh();  // and these change them
            return (torch::mm(calm.sigmoid(), weight) * busy).square().mean();
          },
          [](int64_t n) { return torch::randn({n, 8}); }};
  expect_equal_steps(net);
}

TEST_F(HardSteps, AnOpThatDoesNotReplayIsKeptAndNamed) {
  auto net = free_net(free_, [this](const torch::Tensor& x) {
    auto y = torch::mm(x, w(0)).tanh();
    // The plain step and ours must see the same noise: its number is reset.
    noisy_calls = 7;
    auto noise = call_noisy(y.detach());
    return (torch::mm(noise * y, w(1)).tanh() * noise).sum() + torch::mm(y, w(2)).sigmoid().sum();
  });
  auto session = make_session("min");
  for (int i = 0; i < 3; ++i) {
    expect_equal_step(net, session, net.batch(4));
    for (auto& parameter : free_->parameters()) parameter.mutable_grad() = torch::Tensor();
  }
  int pinned = 0;
  for (const auto& op : session.trace()->ops) {
    if (!op.pinned) continue;
    ++pinned;
    EXPECT_EQ(op.name, "reforward_test::noisy");
    EXPECT_THAT(op.pinned_reason, ::testing::HasSubstr("other bits"));
  }
  EXPECT_EQ(pinned, 1);
}

TEST_F(HardSteps, AScalarThatChangesFromStepToStep) {
  double scale = 1.0;
  bool second = false;
  auto net = free_net(free_, [&](const torch::Tensor& x) {
    if (!second) scale += 0.37;
    second = !second;
    auto y = torch::leaky_relu(torch::mm(x, w(0)) * scale, scale / 10).tanh();
    return torch::mm(y, w(1)).sigmoid().mul(scale).mm(w(2)).square().mean();
  });
  expect_equal_steps(net, 4);
}

TEST_F(HardSteps, ABufferWrittenInForwardAfterItWasRead) {
  auto net = free_net(free_, [this](const torch::Tensor& x) {
    auto y = torch::mm(x * free_->buffer, w(0)).tanh();  // needs the old contents again
    {
      torch::NoGradGuard no_grad;
      free_->buffer.mul_(0.9).add_(y.detach().mean(0), 0.1);
    }
    return torch::mm(y * free_->buffer.detach().clone(), w(1)).tanh().mm(w(2)).square().mean();
  });
  expect_equal_steps(net);
}

TEST_F(HardSteps, AnInputOverwrittenBetweenForwardAndBackward) {
  // Plain PyTorch saved exp's result, not its input, and so does not mind.
  auto batch = torch::randn({256, 512});
  const auto contents = batch.clone();
  auto module = std::make_shared<Free>(std::vector<std::vector<int64_t>>{{512, 8}, {8, 8}});
  auto net = free_net(module, [&](const torch::Tensor&) {
    batch.copy_(contents);
    auto loss = torch::mm(torch::mm(batch.exp(), module->w[0]).tanh(), module->w[1]).sigmoid().square().mean();
    batch.zero_();
    return loss;
  });
  expect_equal_steps(net);
}

TEST_F(HardSteps, AnInputOverwrittenInBackwardIsRefused) {
  auto batch = torch::randn({256, 512});
  auto narrow = torch::randn({512, 8}).requires_grad_();
  auto session = make_session("min");
  const auto body = [&](bool overwrite) {
    auto y = torch::mm(batch.exp(), narrow).tanh();
    if (overwrite) {
      y.register_hook([&](const torch::Tensor& gradient) {
        batch.zero_();
        return gradient;
      });
    }
    torch::mm(torch::mm(y, w(1)).sigmoid(), w(2)).square().mean().backward();
  };
  EXPECT_NO_THROW(session.step([&] { body(false); }));
  EXPECT_THROW(session.step([&] { body(true); }), TraceError);
  EXPECT_NO_THROW(session.step([&] { body(false); }));
}

TEST_F(HardSteps, ASavedValueOverwrittenByTheUserIsAnErrorAsInPlainPyTorch) {
  const auto body = [this] {
    auto y = torch::mm(torch::ones({4, 8}), w(0)).exp();  // exp saves its result
    auto loss = torch::mm(y, w(1)).sum();
    y.add_(1.0);
    loss.backward();
  };
  EXPECT_THROW(body(), c10::Error);
  for (const auto* budget : {"100%", "min"}) {
    auto session = make_session(budget);
    EXPECT_THROW(session.step(body), c10::Error);
  }
}

TEST_F(HardSteps, AutocastCastsAreRecordedBelowIt) {
  auto net = free_net(free_, [this](const torch::Tensor& x) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    auto y = torch::mm(x, w(0)).tanh();
    auto z = torch::mm(torch::mm(y, w(1)).sigmoid(), w(1));
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    return z.to(torch::kFloat).mm(w(2)).square().mean();
  });
  expect_equal_steps(net);
}

TEST_F(HardSteps, RecurrentNetworks) {
  for (const bool lstm : {true, false}) {
    auto module = std::make_shared<nn::Module>();
    nn::LSTM l(nn::LSTMOptions(6, 8).num_layers(2));
    module->register_module("l", l.ptr());
    nn::GRU g(nn::GRUOptions(6, 8).num_layers(2));
    module->register_module("g", g.ptr());
    Net net{lstm ? "lstm" : "gru", module,
            [=](const torch::Tensor& x) mutable {
              auto out = lstm ? std::get<0>(l(x)) : std::get<0>(g(x));
              return out.tanh().square().mean() + 0 * (lstm ? g->parameters()[0].sum() : l->parameters()[0].sum());
            },
            [](int64_t n) {
              return torch::randn({5, n, 6});
            }};
    expect_equal_steps(net);
  }
}

TEST_F(HardSteps, ChannelsLastAndDoublePrecision) {
  auto net = residual_net();
  const auto inner = net.batch;
  net.batch = [inner](int64_t n) { return inner(n).to(torch::MemoryFormat::ChannelsLast); };
  expect_equal_steps(net);
  auto wide = dense_net();
  wide.module->to(torch::kDouble);
  const auto single = wide.batch;
  wide.batch = [single](int64_t n) { return single(n).to(torch::kDouble); };
  expect_equal_steps(wide);
}

TEST_F(HardSteps, FrozenPartsAndRequiresGradSwitchedBetweenSteps) {
  auto net = residual_net();
  auto session = make_session("min");
  for (int i = 0; i < 6; ++i) {
    for (auto& parameter : net.module->named_parameters()) {
      if (parameter.key().find("_a") != std::string::npos) parameter.value().requires_grad_(i % 2 == 0);
    }
    expect_equal_step(net, session, net.batch(3));
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
  }
}

TEST_F(HardSteps, GradientAccumulation) {
  auto net = residual_net();
  auto session = make_session("60%");
  for (int i = 0; i < 9; ++i) {
    const auto report = expect_equal_step(net, session, net.batch(3));
    if (i >= 6) {
      EXPECT_LE(report.measured_peak_bytes, report.budget_bytes);
    }
    if (i % 3 == 2) {
      for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
    }
  }
}

TEST_F(HardSteps, TwoBackwardsThroughOneForward) {
  auto net = free_net(free_, [this](const torch::Tensor& x) {
    return torch::mm(torch::mm(x, w(0)).tanh(), w(1)).sigmoid().mm(w(2)).square().mean();
  });
  for (int i = 0; i < 3; ++i) {
    const auto batch = net.batch(4);
    State before(*net.module);
    const auto body = [&] {
      auto loss = net.loss(batch);
      loss.backward({}, /*keep_graph=*/true);
      loss.backward();
    };
    body();
    const auto plain = what_is_left(*net.module, "");
    before.restore();
    auto session = make_session("min");
    session.step(body);
    EXPECT_TRUE(plain.parts == what_is_left(*net.module, "").parts);
  }
}

TEST_F(HardSteps, BackwardAfterTheStepIsOver) {
  auto net = residual_net();
  auto session = make_session("min");
  expect_equal_step(net, session, net.batch(3));
  const auto batch = net.batch(3);
  State before(*net.module);
  net.loss(batch).backward();
  const auto plain = what_is_left(*net.module, "");
  before.restore();
  torch::Tensor loss;
  session.step([&] { loss = net.loss(batch); });
  loss.backward();
  EXPECT_TRUE(plain.parts == what_is_left(*net.module, "").parts);
}

TEST_F(HardSteps, TheOrderOfAnAdversarialPair) {
  // Forward G, forward D, backward of D's loss (which stops at D), backward of G's.
  auto net = free_net(free_, [this](const torch::Tensor& x) {
    auto fake = torch::mm(x, w(0)).tanh();
    auto judged = torch::mm(fake.detach().sigmoid(), w(1)).tanh().square().mean();
    auto fooled = torch::mm(fake.sigmoid(), w(2)).tanh().square().mean();
    judged.backward();
    return fooled;
  });
  expect_equal_steps(net);
}

TEST_F(HardSteps, AnExceptionInForwardLeavesTheNextStepRight) {
  auto net = residual_net();
  auto session = make_session("min");
  for (int i = 0; i < 4; ++i) {
    expect_equal_step(net, session, net.batch(3));
    const auto batch = net.batch(3);
    EXPECT_THROW(session.step([&] {
      auto loss = net.loss(batch);
      throw std::runtime_error("stop");
    }),
                 std::runtime_error);
    // An op that throws inside, caught by the user, and the step goes on.
    State before(*net.module);
    const auto body = [&] {
      auto loss = net.loss(batch);
      try {
        torch::mm(batch, batch);
      } catch (const c10::Error&) {
      }
      (loss * 2).backward();
    };
    body();
    const auto plain = what_is_left(*net.module, "");
    before.restore();
    session.step(body);
    EXPECT_TRUE(plain.parts == what_is_left(*net.module, "").parts);
    for (auto& parameter : net.module->parameters()) parameter.mutable_grad() = torch::Tensor();
  }
}

TEST_F(HardSteps, BranchesThatChangeFromStepToStep) {
  int step = 0;
  auto net = free_net(free_, [&](const torch::Tensor& x) {
    auto y = torch::mm(x, w(0)).tanh();
    for (int i = 0; i < step / 2 % 3; ++i) y = torch::mm(y, w(1)).sigmoid();
    ++step;
    return torch::mm(y, w(2)).square().mean();
  });
  auto session = make_session("min");
  for (int i = 0; i < 12; ++i) {
    expect_equal_step(net, session, net.batch(4));
    for (auto& parameter : free_->parameters()) parameter.mutable_grad() = torch::Tensor();
  }
}

}  // namespace
}  // namespace reforward::testing
