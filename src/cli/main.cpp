#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <unistd.h>

#include "cli/command.h"
#include "reforward/error.h"
#include "reforward/session.h"

namespace {

constexpr int refused = 2;     // the input or the machine is at fault: one sentence
constexpr int unexpected = 1;  // we are

int refuse(std::string sentence, int status) {
  // One sentence on one line, whatever a library's message looks like.
  if (const auto end = sentence.find('\n'); end != std::string::npos) sentence.erase(end);
  if (sentence.empty() || sentence.back() != '.') sentence += '.';
  std::fprintf(stderr, "reforward: %s\n", sentence.c_str());
  return status;
}

/// OpenMP reads its environment when it starts, which is before main: threads
/// that spin while they wait slow every step down where cores are shared.
void let_threads_sleep(char** arguments) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "PASSIVE", 1);
  ::execv("/proc/self/exe", arguments);
}

}  // namespace

int main(int count, char** arguments) {
  let_threads_sleep(arguments);
  reforward::install_memory_meter();
  CLI::App app("Trains any PyTorch network inside a memory budget given in bytes.", "reforward");
  reforward::cli::Common common;
  app.require_subcommand(1);
  reforward::cli::add_models(app, common);
  reforward::cli::add_trace(app, common);
  reforward::cli::add_plan(app, common);
  reforward::cli::add_simulate(app, common);
  reforward::cli::add_solve(app, common);
  reforward::cli::add_train(app, common);
  reforward::cli::add_bench(app, common);
  try {
    app.parse(count, arguments);
    return 0;
  } catch (const CLI::Success& asked) {  // --help
    return app.exit(asked);
  } catch (const CLI::RuntimeError& status) {
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return refuse(std::string(error.what()) + "; run with --help to see what is expected", refused);
  } catch (const reforward::InternalError& error) {
    return refuse(error.what(), unexpected);
  } catch (const reforward::Error& error) {
    return refuse(error.what(), refused);
  } catch (const std::bad_alloc&) {
    return refuse("The machine has not enough memory for this; give a smaller batch, image or budget", refused);
  } catch (const std::exception& error) {
    const std::string what = error.what();
    if (what.find("not enough memory") != std::string::npos ||
        what.find("can't allocate memory") != std::string::npos) {
      return refuse("The machine has not enough memory for this; give a smaller batch, image or budget", refused);
    }
    return refuse(what, unexpected);
  }
}
