#include "cli/command.h"

namespace reforward::cli {

CLI::App* add_command(CLI::App& app, Common& common, const std::string& name, const std::string& description) {
  CLI::App* command = app.add_subcommand(name, description);
  command->add_flag("--json", common.json, "one JSON object on standard output, nothing else there");
  command->add_flag("--quiet", common.quiet, "no progress and no text");
  return command;
}

}  // namespace reforward::cli
