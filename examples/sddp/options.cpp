#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <vector>

namespace sddp {
namespace {

struct Option {
  std::string_view name, value, text;
  std::function<void(Options&, const std::string&)> set;
};

template <class T>
T parse_number(std::string_view name, const std::string& text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most)) {
    const auto show = [](T number) {
      std::string shown = std::to_string(number);
      return shown.find('.') == std::string::npos ? shown : shown.substr(0, shown.find('.') + 2);
    };
    throw InputError(std::string(name) + ": must be a number from " + show(least) + " to " + show(most) + ", is \"" +
                     text + "\"");
  }
  return value;
}

/// An option that is a number of the case.
Option size_option(std::string_view name, std::string_view text, std::optional<std::uint64_t> CaseSizes::*field,
                   std::uint64_t least, std::uint64_t most) {
  return {name, "N", text, [=](Options& options, const std::string& value) {
            options.sizes.*field = parse_number(name, value, least, most);
          }};
}

Option file_option(std::string_view name, std::string_view text, std::filesystem::path Options::*field) {
  return {name, "FILE", text, [=](Options& options, const std::string& value) {
            if (value.empty()) throw InputError(std::string(name) + ": needs the name of a file");
            options.*field = value;
          }};
}

const std::vector<Option>& table() {
  constexpr std::uint64_t many = 1'000'000;
  static const std::vector<Option> options{
      size_option("--stages", "stages of a made-up case (12)", &CaseSizes::stages, 2, many),
      size_option("--hydros", "its hydro plants (4)", &CaseSizes::hydros, 1, many),
      size_option("--thermals", "its thermal plants (4)", &CaseSizes::thermals, 0, many),
      size_option("--order", "its past inflows that the next depends on (1)", &CaseSizes::order, 0, 24),
      size_option("--scenarios", "forward paths in an iteration, of any case", &CaseSizes::scenarios, 1, many),
      size_option("--openings", "outcomes of a stage, of any case", &CaseSizes::openings, 1, many),
      size_option("--iterations", "iterations at most, of any case", &CaseSizes::iterations, 1, many),
      size_option("--seed", "of all that is random, of any case", &CaseSizes::seed, 0, UINT64_MAX),
      {"--threads", "N", "threads in each rank (Slurm's CPUs a task, else 1)",
       [](Options& o, const std::string& v) {
         o.settings.threads = parse_number<std::int32_t>("--threads", v, 1, 4096);
       }},
      {"--tolerance", "X", "end when the lower bound rises by less than this share of itself … (1e-6)",
       [](Options& o, const std::string& v) { o.settings.tolerance = parse_number("--tolerance", v, 0.0, 1.0); }},
      {"--window", "N", "… over so many iterations (0: never)",
       [](Options& o, const std::string& v) {
         o.settings.window = parse_number<std::uint64_t>("--window", v, 0, many);
       }},
      {"--select-cuts", "", "solve with those cuts only that are highest somewhere",
       [](Options& o, const std::string&) { o.settings.select_cuts = true; }},
      file_option("--checkpoint", "write a checkpoint here: every so often, on SIGTERM, at the end",
                  &Options::checkpoint),
      {"--every", "N", "iterations between two checkpoints (10)",
       [](Options& o, const std::string& v) { o.every = parse_number<std::uint64_t>("--every", v, 1, many); }},
      file_option("--resume", "go on from this checkpoint", &Options::resume),
      file_option("--json", "write the result here, for programs", &Options::json),
      file_option("--html", "write the result here, for people", &Options::html),
      file_option("--write-case", "write the case here and end", &Options::write_case),
      {"--help", "", "this text", [](Options& o, const std::string&) { o.help = true; }},
  };
  return options;
}

}  // namespace

Options parse_options(std::span<const char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (!argument.starts_with("--")) {
      if (!options.case_file.empty())
        throw InputError(argument + ": there is a case already: " + options.case_file.string());
      options.case_file = argument;
      continue;
    }
    const auto equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto option = std::ranges::find(table(), name, &Option::name);
    if (option == table().end()) throw InputError(argument + ": unknown option; --help lists them all");
    std::string value;
    if (equals != std::string::npos) {
      if (option->value.empty()) throw InputError(name + ": takes no value");
      value = argument.substr(equals + 1);
    } else if (!option->value.empty()) {
      if (i + 1 == arguments.size()) throw InputError(name + ": needs a value");
      value = arguments[++i];
    }
    option->set(options, value);
  }
  const CaseSizes& sizes = options.sizes;
  if (!options.case_file.empty() && (sizes.stages || sizes.hydros || sizes.thermals || sizes.order)) {
    throw InputError(options.case_file.string() +
                     ": a case from a file has its own stages, hydros, thermals and order");
  }
  return options;
}

std::string usage() {
  std::string text =
      "sddp [case.json] [options]: hydrothermal dispatch by stochastic dual dynamic programming\n\n"
      "Without a file the case is made up from sizes and a seed.\n\n";
  for (const Option& option : table()) {
    std::string left = "  " + std::string(option.name) + " " + std::string(option.value);
    left.resize(22, ' ');
    text += left + std::string(option.text) + "\n";
  }
  return text;
}

}  // namespace sddp
