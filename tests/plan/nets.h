#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reforward/trace.h"

namespace reforward::made_up {

/// Writes the trace of a network down as a real step would give it: which op
/// reads and saves what, with sizes from shapes and times from arithmetic.
/// Backward is in reverse order, with a gradient as large as each value, alive
/// from the backward of its last reader to that of its maker.
class Net {
 public:
  explicit Net(int64_t batch) { trace_.batch = batch; }

  struct Shape {
    int64_t channels = 1, height = 1, width = 1;
    int64_t count() const { return channels * height * width; }
  };
  struct Tensor {
    ValueId value;
    Shape shape;
  };

  Tensor input(Shape shape);
  /// An op with one fresh output; saves its inputs, its output, or neither.
  Tensor op(const std::string& name, const std::vector<Tensor>& from, Shape to, bool save_inputs, bool save_output,
            double seconds, int64_t workspace = 0);
  /// Writes over `onto`; saves the result if asked.
  Tensor in_place(const std::string& name, Tensor onto, const std::vector<Tensor>& others, bool save_output);

  Tensor conv(Tensor x, int64_t channels, int64_t kernel, int64_t stride, int64_t padding);
  Tensor batch_norm(Tensor x);
  Tensor relu(Tensor x) { return in_place("aten::relu_", x, {}, true); }
  Tensor pool(Tensor x, int64_t kernel, int64_t stride, int64_t padding, bool max);
  Tensor linear(Tensor x, int64_t channels);
  Tensor cat(const std::vector<Tensor>& parts);
  Tensor add(Tensor x, Tensor y);

  Trace finish();

 private:
  int64_t bytes(Shape shape) const { return 4 * trace_.batch * shape.count(); }
  double moving(int64_t amount) const { return static_cast<double>(amount) / 8e9; }
  void backward();
  Trace trace_;
};

Trace resnet50(int64_t batch, int64_t image);
Trace densenet121(int64_t batch, int64_t image);
Trace inception_like(int64_t batch, int64_t image);
Trace decoder(int64_t batch, int64_t length, int64_t width, int layers);

/// `ops` equal ops in a row of `bytes` each; each saves its input.
Trace chain(std::size_t ops, int64_t bytes);

}  // namespace reforward::made_up
