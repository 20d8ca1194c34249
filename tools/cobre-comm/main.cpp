// The command `cobre-comm`: run starts programs, info tells what is here, bench measures it.

#include <fcntl.h>
#include <unistd.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cobre/comm/config.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/command.hpp"
#include "comm/core/text.hpp"
#include "info/command.hpp"
#include "run/command.hpp"
#include "run/options.hpp"

namespace {

constexpr int wrong_usage = 2;
constexpr int went_wrong = 1;

// Who starts us with a standard stream closed would find our pipes under its number.
void open_standard_streams() {
  int opened = 0;
  do {
    opened = open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) (void)close(opened);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  CLI::App app("cobre-comm: one parallel program, as one process or as many", "cobre-comm");
  app.set_version_flag("--version", "cobre-comm " COBRE_COMM_VERSION);
  app.require_subcommand(1);
  app.footer("\n'cobre-comm run --help', and the same with info and bench, show examples.");
  int exit_code = 0;
  std::vector<std::string> words(argv + 1, argv + argc);
  cobre::command::add_run(app, words, exit_code);
  cobre::command::add_info(app, exit_code);
  cobre::command::add_bench(app, exit_code);
  try {
    const auto is_first = [&](const CLI::App* command) { return command->get_name() == words.front(); };
    if (!words.empty() && !words.front().starts_with('-') && std::ranges::none_of(app.get_subcommands({}), is_first)) {
      throw cobre::command::UsageError("there is no command " + cobre::comm::core::quoted(words.front()) +
                                       ", only run, info and bench");
    }
    std::ranges::reverse(words);  // as CLI11 wants them
    app.parse(words);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "cobre-comm: %s; 'cobre-comm --help' tells more\n", error.what());
    return wrong_usage;
  } catch (const cobre::command::UsageError& error) {
    std::fprintf(stderr, "cobre-comm: %s\n", error.what());
    return wrong_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cobre-comm: %s\n", error.what());
    return went_wrong;
  }
  return exit_code;
}
