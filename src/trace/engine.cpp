#include "trace/engine.h"

#include <torch/csrc/autograd/engine.h>

#include <mutex>

#include "reforward/error.h"

namespace reforward {
namespace {

thread_local EngineListener* listener = nullptr;

class ListeningEngine final : public torch::autograd::Engine {
 public:
  ListeningEngine() = default;
  ~ListeningEngine() override { stop(); }

  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return listener != nullptr ? listener->make_hooks() : nullptr;
  }

  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs, bool keep_graph,
                                         bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    EngineListener* const told = listener;
    if (told == nullptr) {
      return Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
    }
    told->backward_begins();
    struct End {
      EngineListener* told;
      ~End() { told->backward_ends(); }
    } end{told};
    return Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  }
};

torch::autograd::Engine& listening_engine() {
  static ListeningEngine engine;
  return engine;
}

}  // namespace

EngineHook::EngineHook(EngineListener& new_listener) {
  static std::once_flag installed;
  std::call_once(installed, [] { torch::autograd::set_default_engine_stub(listening_engine); });
  invariant(listener == nullptr, "two engine listeners on one thread");
  listener = &new_listener;
}

EngineHook::~EngineHook() { listener = nullptr; }

}  // namespace reforward
