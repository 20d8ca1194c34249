#include "application.hpp"

namespace sddp {

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text << std::flush;
  if (!stream) throw std::runtime_error(file.string() + ": cannot be written");
}

Plan prepare(std::span<const char* const> arguments, Desk& desk) {
  Plan plan;
  try {
    const Options& options = desk.options = parse_options(arguments);
    if (options.help) {
      std::printf("%s", usage().c_str());
      plan.exit_code = 0;
      return plan;
    }
    desk.data = options.case_file.empty() ? synthetic_case(options.sizes) : read_case(options.case_file, options.sizes);
    if (!options.write_case.empty()) {
      write_text(options.write_case, write_case(*desk.data));
      plan.exit_code = 0;
      return plan;
    }
    plan.dimensions = desk.data->dimensions;
    plan.settings = options.settings;
    check_memory(pool_bytes(plan.dimensions));
    desk.fingerprint = fingerprint(desk.data->system(), options.settings.select_cuts);
    if (!options.resume.empty()) {
      desk.checkpoint = read_checkpoint(options.resume, desk.fingerprint, plan.dimensions);
      plan.resumed = desk.checkpoint.trace.size();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sddp: %s\n", error.what());
    plan.exit_code = 2;
  }
  return plan;
}

}  // namespace sddp
