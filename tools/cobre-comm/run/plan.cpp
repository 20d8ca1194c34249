// The plan of an agent as text. It comes from the same user's launcher; still nothing in it is trusted to fit.

#include <nlohmann/json.hpp>

#include "comm/core/format.hpp"
#include "remote.hpp"

namespace cobre::command {
namespace {

constexpr std::size_t most_ranks = 1U << 20;

}  // namespace

std::string AgentPlan::to_json() const {
  return nlohmann::json{{"folder", folder},
                        {"command", command},
                        {"environment", environment},
                        {"first_rank", first_rank},
                        {"ranks", ranks},
                        {"job_ranks", job_ranks},
                        {"coordinator", coordinator},
                        {"mark", mark},
                        {"secret", secret},
                        {"binding", static_cast<int>(binding)},
                        {"tag", tag},
                        {"colour_output", colour_output},
                        {"colour_errors", colour_errors},
                        {"keep_going", keep_going},
                        {"timeout_ms", timeout_ms}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

AgentPlan AgentPlan::from_json(const std::string& text) try {
  const auto json = nlohmann::json::parse(text);
  AgentPlan plan;
  json.at("folder").get_to(plan.folder);
  json.at("command").get_to(plan.command);
  json.at("environment").get_to(plan.environment);
  json.at("first_rank").get_to(plan.first_rank);
  json.at("ranks").get_to(plan.ranks);
  json.at("job_ranks").get_to(plan.job_ranks);
  json.at("coordinator").get_to(plan.coordinator);
  json.at("mark").get_to(plan.mark);
  json.at("secret").get_to(plan.secret);
  const auto binding = json.at("binding").get<int>();
  if (binding < static_cast<int>(Binding::None) || binding > static_cast<int>(Binding::Numa)) {
    throw UsageError("the launcher's plan has a binding that does not exist");
  }
  plan.binding = static_cast<Binding>(binding);
  json.at("tag").get_to(plan.tag);
  json.at("colour_output").get_to(plan.colour_output);
  json.at("colour_errors").get_to(plan.colour_errors);
  json.at("keep_going").get_to(plan.keep_going);
  json.at("timeout_ms").get_to(plan.timeout_ms);
  const bool fits = !plan.command.empty() && plan.ranks > 0 && plan.job_ranks <= most_ranks &&
                    plan.ranks <= plan.job_ranks && plan.first_rank <= plan.job_ranks - plan.ranks;
  if (!fits) throw UsageError("the launcher's plan has no ranks, or more than a job can have");
  return plan;
} catch (const nlohmann::json::exception& error) {
  throw UsageError(comm::core::format("the launcher's plan cannot be read: {}", error.what()));
}

}  // namespace cobre::command
