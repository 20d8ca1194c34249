// Everything that `cobre-comm info` knows, in one tree: text and JSON are two ways to print it.
#pragma once

#include <nlohmann/json.hpp>

namespace cobre::command {

using Facts = nlohmann::ordered_json;

[[nodiscard]] Facts collect_facts();

}  // namespace cobre::command
