#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace reforward::cli {

using Json = nlohmann::ordered_json;

/// What every command takes.
struct Common {
  bool json = false;   ///< one JSON object on standard output, nothing else there
  bool quiet = false;  ///< no progress, no text
};

/// Each adds its sub-command; what it does runs when it was parsed.
void add_models(CLI::App& app, Common& common);
void add_trace(CLI::App& app, Common& common);
void add_plan(CLI::App& app, Common& common);
void add_simulate(CLI::App& app, Common& common);
void add_solve(CLI::App& app, Common& common);
void add_train(CLI::App& app, Common& common);
void add_bench(CLI::App& app, Common& common);
/// `bench paper`
void add_paper(CLI::App& bench, Common& common);

CLI::App* add_command(CLI::App& app, Common& common, const std::string& name, const std::string& description);

}  // namespace reforward::cli
