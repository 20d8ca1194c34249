#include "command.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <cstdio>
#include <memory>

#include "facts.hpp"
#include "layout.hpp"
#include "text.hpp"

namespace cobre::command {
namespace {

constexpr const char* info_examples = R"(
Examples:
  cobre-comm info                                       what is here, what can be used, and why not the rest
  cobre-comm info --json | jq .backends                 the same for programs
  cobre-comm run -n 8 -- cobre-comm info --layout       ranks by host and NUMA domain, and who shares cores with whom
  mpirun -n 8 cobre-comm info --layout                  the same under MPI, and whether its launcher fits)";

struct InfoOptions {
  bool json = false;
  bool layout = false;
};

}  // namespace

void add_info(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* const command = app.add_subcommand("info", "Tell what is here: backends, MPI, processors, limits, job");
  command->footer(info_examples);
  command->add_flag("--json", options->json, "For programs: the same content as JSON");
  command->add_flag("--layout", options->layout, "As the ranks of a job: tell who runs where");
  command->callback([options, &exit_code] {
    if (options->layout) {
      exit_code = show_layout(options->json);
      return;
    }
    const Facts facts = collect_facts();
    std::puts((options->json ? facts.dump(2) : as_text(facts)).c_str());
    std::fflush(stdout);
  });
}

}  // namespace cobre::command
