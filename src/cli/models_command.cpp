#include "cli/command.h"
#include "cli/output.h"
#include "models/models.h"

namespace reforward::cli {

void add_models(CLI::App& app, Common& common) {
  CLI::App* command = add_command(app, common, "models", "the networks that come with the program");
  command->callback([&common] {
    Json json{{"models", Json::array()}};
    Table table({"model", "parameters", "batch", "image", "what it is"});
    for (const auto& model : models::registry()) {
      json["models"].push_back({{"model", model.name},
                                {"description", model.description},
                                {"parameters", model.parameters},
                                {"batch", model.default_batch},
                                {"image", model.default_image},
                                {"least_image", model.least_image}});
      table.add({model.name, std::to_string(model.parameters), std::to_string(model.default_batch),
                 std::to_string(model.default_image), model.description});
    }
    show(common, json, table.text());
  });
}

}  // namespace reforward::cli
