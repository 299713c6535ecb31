#include "plan/nets.h"

#include <algorithm>

namespace reforward::made_up {

Net::Tensor Net::input(Shape shape) {
  Value value;
  value.bytes = bytes(shape);
  trace_.static_bytes += value.bytes;
  trace_.values.push_back(value);
  return {ValueId(trace_.values.size() - 1), shape};
}

Net::Tensor Net::op(const std::string& name, const std::vector<Tensor>& from, Shape to, bool save_inputs,
                    bool save_output, double seconds, int64_t workspace) {
  const OpId id(trace_.ops.size());
  Value value;
  value.bytes = bytes(to);
  value.maker = id;
  value.requires_grad = true;
  const ValueId made(trace_.values.size());
  trace_.values.push_back(value);
  Op op;
  op.name = name;
  op.seconds = seconds;
  op.peak_bytes = value.bytes + workspace;
  op.outputs = {made};
  for (const Tensor& x : from) {
    op.inputs.push_back(x.value);
    if (save_inputs && !trace_.values[x.value.at()].external()) trace_.saved.push_back({x.value, id});
  }
  if (save_output) trace_.saved.push_back({made, id});
  trace_.ops.push_back(std::move(op));
  return {made, to};
}

Net::Tensor Net::in_place(const std::string& name, Tensor onto, const std::vector<Tensor>& others, bool save_output) {
  Tensor result = op(name, {onto}, onto.shape, false, save_output, moving(2 * bytes(onto.shape)));
  Op& op = trace_.ops.back();
  op.peak_bytes = 0;
  for (const Tensor& x : others) op.inputs.push_back(x.value);
  trace_.values[result.value.at()].overwrites = onto.value;
  trace_.values[onto.value.at()].overwritten = true;
  trace_.values[onto.value.at()].dies = static_cast<int32_t>(trace_.ops.size()) - 1;
  return result;
}

Net::Tensor Net::conv(Tensor x, int64_t channels, int64_t kernel, int64_t stride, int64_t padding) {
  const Shape to{channels, (x.shape.height + 2 * padding - kernel) / stride + 1,
                 (x.shape.width + 2 * padding - kernel) / stride + 1};
  const auto flops = static_cast<double>(2 * trace_.batch * to.count() * x.shape.channels * kernel * kernel);
  return op("aten::convolution", {x}, to, true, false, flops / 3e11 + moving(bytes(to)), bytes(to) / 4);
}

Net::Tensor Net::batch_norm(Tensor x) {
  return op("aten::native_batch_norm", {x}, x.shape, true, false, moving(3 * bytes(x.shape)));
}

Net::Tensor Net::pool(Tensor x, int64_t kernel, int64_t stride, int64_t padding, bool max) {
  const Shape to{x.shape.channels, (x.shape.height + 2 * padding - kernel) / stride + 1,
                 (x.shape.width + 2 * padding - kernel) / stride + 1};
  return op(max ? "aten::max_pool2d_with_indices" : "aten::avg_pool2d", {x}, to, true, false,
            moving(2 * bytes(x.shape)));
}

Net::Tensor Net::linear(Tensor x, int64_t channels) {
  const Shape to{channels, x.shape.height, x.shape.width};
  const auto flops = static_cast<double>(2 * trace_.batch * to.count() * x.shape.channels);
  return op("aten::addmm", {x}, to, true, false, flops / 3e11 + moving(bytes(to)));
}

Net::Tensor Net::cat(const std::vector<Tensor>& parts) {
  Shape to = parts.front().shape;
  to.channels = 0;
  for (const Tensor& part : parts) to.channels += part.shape.channels;
  return op("aten::cat", parts, to, false, false, moving(2 * bytes(to)));
}

Net::Tensor Net::add(Tensor x, Tensor y) {
  return op("aten::add", {x, y}, x.shape, false, false, moving(3 * bytes(x.shape)));
}

Trace Net::finish() {
  std::vector<int32_t> last(trace_.values.size(), -1);
  for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
    trace_.forward_seconds += trace_.ops[i].seconds;
    for (const ValueId input : trace_.ops[i].inputs) last[input.at()] = static_cast<int32_t>(i);
  }
  for (std::size_t v = 0; v < trace_.values.size(); ++v) {
    Value& value = trace_.values[v];
    if (!value.external() && !value.overwritten) value.dies = std::max(last[v], value.maker.index) + 1;
  }
  trace_.backward_seconds = 2 * trace_.forward_seconds;
  backward();
  validate(trace_);
  return trace_;
}

void Net::backward() {
  using Kind = BackwardEvent::Kind;
  auto& events = trace_.backward;
  std::vector<std::vector<SavedId>> nodes(trace_.ops.size());
  for (std::size_t s = 0; s < trace_.saved.size(); ++s) nodes[trace_.saved[s].op.at()].emplace_back(s);
  std::vector<int64_t> gradient(trace_.values.size(), 0);
  int64_t base = 0;
  events.push_back({Kind::begin, {}, 0, 0});
  for (std::size_t i = trace_.ops.size(); i-- > 0;) {
    const Op& op = trace_.ops[i];
    for (const SavedId saved : nodes[i]) events.push_back({Kind::unpack, saved, base, base});
    int64_t fresh = 0;
    for (const ValueId output : op.outputs) {
      if (!trace_.values[output.at()].overwrites.valid()) fresh += trace_.values[output.at()].bytes;
    }
    for (const ValueId input : op.inputs) {
      const Value& value = trace_.values[input.at()];
      if (value.external() || gradient[input.at()] != 0) continue;
      gradient[input.at()] = value.bytes;
      base += value.bytes;
    }
    events.back().gap_bytes = base + std::max<int64_t>(0, op.peak_bytes - fresh);
    for (const ValueId output : op.outputs) {
      base -= gradient[output.at()];
      gradient[output.at()] = 0;
    }
    for (const SavedId saved : nodes[i]) events.push_back({Kind::release, saved, base, base});
  }
  events.push_back({Kind::end, {}, base, base});
}

Trace chain(std::size_t ops, int64_t bytes) {
  Net net(1);
  Net::Tensor x = net.input({bytes / 4, 1, 1});
  for (std::size_t i = 0; i < ops; ++i) x = net.op("aten::tanh", {x}, x.shape, true, false, 1.0);
  return net.finish();
}

Trace resnet50(int64_t batch, int64_t image) {
  Net net(batch);
  auto x = net.input({3, image, image});
  x = net.relu(net.batch_norm(net.conv(x, 64, 7, 2, 3)));
  x = net.pool(x, 3, 2, 1, true);
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = 64 << stage;
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      auto y = net.relu(net.batch_norm(net.conv(x, width, 1, 1, 0)));
      y = net.relu(net.batch_norm(net.conv(y, width, 3, stride, 1)));
      y = net.batch_norm(net.conv(y, width * 4, 1, 1, 0));
      if (block == 0) x = net.batch_norm(net.conv(x, width * 4, 1, stride, 0));
      x = net.relu(net.in_place("aten::add_", y, {x}, false));
    }
  }
  x = net.op("aten::mean", {x}, {x.shape.channels, 1, 1}, false, false, 1e-4);
  x = net.linear(x, 1000);
  x = net.op("aten::_log_softmax", {x}, x.shape, false, true, 1e-5);
  net.op("aten::nll_loss_forward", {x}, {1, 1, 1}, true, false, 1e-6);
  return net.finish();
}

Trace densenet121(int64_t batch, int64_t image) {
  Net net(batch);
  auto x = net.input({3, image, image});
  x = net.relu(net.batch_norm(net.conv(x, 64, 7, 2, 3)));
  x = net.pool(x, 3, 2, 1, true);
  const int blocks[] = {6, 12, 24, 16};
  for (int stage = 0; stage < 4; ++stage) {
    std::vector<Net::Tensor> features{x};
    for (int layer = 0; layer < blocks[stage]; ++layer) {
      auto y = net.cat(features);
      y = net.conv(net.relu(net.batch_norm(y)), 128, 1, 1, 0);
      y = net.conv(net.relu(net.batch_norm(y)), 32, 3, 1, 1);
      features.push_back(y);
    }
    x = net.relu(net.batch_norm(net.cat(features)));
    if (stage < 3) x = net.pool(net.conv(x, x.shape.channels / 2, 1, 1, 0), 2, 2, 0, false);
  }
  x = net.op("aten::mean", {x}, {x.shape.channels, 1, 1}, false, false, 1e-4);
  x = net.linear(x, 1000);
  x = net.op("aten::_log_softmax", {x}, x.shape, false, true, 1e-5);
  net.op("aten::nll_loss_forward", {x}, {1, 1, 1}, true, false, 1e-6);
  return net.finish();
}

Trace inception_like(int64_t batch, int64_t image) {
  Net net(batch);
  const auto unit = [&](Net::Tensor x, int64_t channels, int64_t kernel, int64_t stride = 1, int64_t padding = -1) {
    return net.relu(net.batch_norm(net.conv(x, channels, kernel, stride, padding < 0 ? kernel / 2 : padding)));
  };
  auto x = net.input({3, image, image});
  x = unit(unit(unit(x, 32, 3, 2, 0), 32, 3, 1, 0), 64, 3);
  x = net.pool(x, 3, 2, 0, true);
  x = net.pool(unit(unit(x, 80, 1), 192, 3, 1, 0), 3, 2, 0, true);
  const auto mixed = [&](int64_t a, int64_t b, int64_t c, int64_t d) {
    const auto pooled = net.pool(x, 3, 1, 1, false);
    x = net.cat(
        {unit(x, a, 1), unit(unit(x, b, 1), b + b / 3, 5), unit(unit(unit(x, c, 1), c, 3), c, 3), unit(pooled, d, 1)});
  };
  const auto shrink = [&](int64_t a, int64_t b) {
    x = net.cat({unit(x, a, 3, 2, 0), unit(unit(unit(x, b, 1), b, 3), b, 3, 2, 0), net.pool(x, 3, 2, 0, true)});
  };
  for (int i = 0; i < 3; ++i) mixed(64, 48, 96, 64);
  shrink(384, 96);
  for (int i = 0; i < 4; ++i) mixed(192, 160, 192, 192);
  shrink(320, 192);
  for (int i = 0; i < 2; ++i) mixed(320, 384, 448, 192);
  x = net.op("aten::mean", {x}, {x.shape.channels, 1, 1}, false, false, 1e-4);
  x = net.linear(x, 1000);
  x = net.op("aten::_log_softmax", {x}, x.shape, false, true, 1e-5);
  net.op("aten::nll_loss_forward", {x}, {1, 1, 1}, true, false, 1e-6);
  return net.finish();
}

Trace decoder(int64_t batch, int64_t length, int64_t width, int layers) {
  Net net(batch);
  const Net::Shape tokens{width, length, 1};
  auto x = net.op("aten::embedding", {net.input({1, length, 1})}, tokens, false, false, 1e-4);
  const auto norm = [&](Net::Tensor t) { return net.op("aten::native_layer_norm", {t}, t.shape, true, false, 1e-4); };
  const auto dropout = [&](Net::Tensor t) {
    const auto mask =
        net.op("aten::bernoulli", {t}, {(t.shape.channels + 3) / 4, t.shape.height, t.shape.width}, false, true, 1e-4);
    return net.op("aten::mul", {t, mask}, t.shape, false, false, 1e-4);
  };
  for (int layer = 0; layer < layers; ++layer) {
    const auto qkv = net.linear(norm(x), 3 * width);
    auto y = net.op("aten::_scaled_dot_product_flash_attention", {qkv}, tokens, true, true,
                    static_cast<double>(4 * batch * length * length * width) / 1e11);
    x = net.add(x, dropout(net.linear(y, width)));
    y = net.op("aten::gelu", {net.linear(norm(x), 4 * width)}, {4 * width, length, 1}, true, false, 1e-3);
    x = net.add(x, dropout(net.linear(y, width)));
  }
  x = net.linear(norm(x), 8 * width);
  x = net.op("aten::_log_softmax", {x}, x.shape, false, true, 1e-3);
  net.op("aten::nll_loss_forward", {x}, {1, 1, 1}, true, false, 1e-6);
  return net.finish();
}

}  // namespace reforward::made_up
