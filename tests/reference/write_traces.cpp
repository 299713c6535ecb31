// `reference_traces FOLDER`: small traces for the integer programme: blocks of networks
// as a real step would give them, and made-up graphs.

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "plan/nets.h"
#include "plan/random_trace.h"
#include "reforward/json.h"

namespace reforward {
namespace {

using made_up::Net;

Net::Tensor unit(Net& net, Net::Tensor x, int64_t channels, int64_t kernel, int64_t stride = 1) {
  return net.relu(net.batch_norm(net.conv(x, channels, kernel, stride, kernel / 2)));
}

Trace plain_convolutions() {
  Net net(8);
  auto x = net.input({3, 64, 64});
  for (const int64_t channels : {64, 64, 128, 128}) {
    x = net.conv(x, channels, 3, 1, 1);
    x = net.op("aten::relu", {x}, x.shape, false, true, 1e-4);
  }
  x = net.pool(x, 2, 2, 0, true);
  net.linear(x, 10);
  return net.finish();
}

Trace basic_blocks() {
  Net net(8);
  auto x = unit(net, net.input({3, 32, 32}), 64, 3);
  for (int block = 0; block < 2; ++block) {
    auto y = net.batch_norm(net.conv(unit(net, x, 64, 3), 64, 3, 1, 1));
    x = net.relu(net.in_place("aten::add_", y, {x}, false));
  }
  net.linear(x, 10);
  return net.finish();
}

Trace bottlenecks() {
  Net net(8);
  auto x = net.input({64, 28, 28});
  for (int block = 0; block < 2; ++block) {
    auto y = unit(net, unit(net, x, 64, 1), 64, 3);
    y = net.batch_norm(net.conv(y, 256, 1, 1, 0));
    if (block == 0) x = net.batch_norm(net.conv(x, 256, 1, 1, 0));
    x = net.relu(net.in_place("aten::add_", y, {x}, false));
  }
  return net.finish();
}

Trace dense_block(int layers) {
  Net net(8);
  std::vector<Net::Tensor> features{net.input({64, 28, 28})};
  for (int layer = 0; layer < layers; ++layer) {
    auto y = net.conv(net.relu(net.batch_norm(net.cat(features))), 64, 1, 1, 0);
    features.push_back(net.conv(net.relu(net.batch_norm(y)), 32, 3, 1, 1));
  }
  net.cat(features);
  return net.finish();
}

Trace inception_block() {
  Net net(8);
  auto x = unit(net, net.input({96, 17, 17}), 192, 1);
  const auto pooled = net.pool(x, 3, 1, 1, false);
  net.cat({unit(net, x, 64, 1), unit(net, unit(net, x, 48, 1), 64, 5), unit(net, pooled, 32, 1)});
  return net.finish();
}

Trace u_net() {
  Net net(4);
  auto x = net.input({3, 64, 64});
  const auto first = unit(net, x, 32, 3);
  const auto second = unit(net, net.pool(first, 2, 2, 0, true), 64, 3);
  auto up = unit(net, net.pool(second, 2, 2, 0, true), 128, 3);
  const auto larger = [&](Net::Tensor t, int64_t channels, int64_t side) {
    return net.op("aten::upsample_nearest2d", {t}, {channels, side, side}, false, false, 1e-4);
  };
  up = unit(net, net.cat({larger(up, 128, 32), second}), 64, 3);
  up = unit(net, net.cat({larger(up, 64, 64), first}), 32, 3);
  net.conv(up, 4, 1, 1, 0);
  return net.finish();
}

std::map<std::string, Trace> traces() {
  std::map<std::string, Trace> all{{"convolutions", plain_convolutions()},
                                   {"basic_blocks", basic_blocks()},
                                   {"bottlenecks", bottlenecks()},
                                   {"dense_block_3", dense_block(3)},
                                   {"dense_block_4", dense_block(4)},
                                   {"inception_block", inception_block()},
                                   {"u_net", u_net()},
                                   {"decoder_layer", made_up::decoder(4, 128, 64, 1)},
                                   {"decoder_layers", made_up::decoder(4, 128, 64, 2)},
                                   {"chain_12", made_up::chain(12, 4'000'000)},
                                   {"chain_20", made_up::chain(20, 4'000'000)}};
  for (uint64_t seed = 0; seed < 24; ++seed) {
    made_up::Random random(seed);
    const std::size_t ops = 8 + 4 * (seed / 3);  // 8 to 36
    char name[32];
    std::snprintf(name, sizeof(name), "random_%02d_%02d", static_cast<int>(ops), static_cast<int>(seed));
    all.emplace(name, made_up::random_plain_trace(random, ops));
  }
  return all;
}

}  // namespace
}  // namespace reforward

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: reference_traces FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  for (const auto& [name, trace] : reforward::traces()) reforward::write_trace(folder / (name + ".json"), trace);
  return 0;
}
