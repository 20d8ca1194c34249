// The case file: JSON, read strictly. Every field is checked where it is read, and a wrong one is named by its path.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "case.hpp"

namespace sddp {
namespace {

using Json = nlohmann::ordered_json;

/// An object of the file, and where it stands in it.
class Object {
 public:
  Object(const Json& json, std::string file, std::string path)
      : json_(json), file_(std::move(file)), path_(std::move(path)) {
    if (!json.is_object()) throw InputError(where() + "must be an object, is " + json.type_name());
  }

  [[noreturn]] void refuse(const std::string& field, const std::string& reason) const {
    throw InputError(file_ + ": " + inside(field) + ": " + reason);
  }

  /// A field with another name than these is a typing error that must not go unseen.
  void allow_only(std::initializer_list<std::string_view> names) const {
    for (const auto& [name, value] : json_.items()) {
      if (std::ranges::find(names, name) == names.end()) refuse(name, "unknown field");
    }
  }

  [[nodiscard]] bool has(const std::string& field) const { return json_.contains(field); }

  [[nodiscard]] const Json& at(const std::string& field) const {
    if (!has(field)) refuse(field, "missing");
    return json_.at(field);
  }

  [[nodiscard]] std::string text(const std::string& field) const {
    if (!at(field).is_string()) refuse(field, std::string("must be a text, is ") + at(field).type_name());
    return at(field).get<std::string>();
  }

  [[nodiscard]] double number(const std::string& field, double least,
                              double most = std::numeric_limits<double>::max()) const {
    return checked(at(field), field, least, most);
  }

  [[nodiscard]] std::uint64_t integer(const std::string& field, std::uint64_t least, std::uint64_t most) const {
    const Json& value = at(field);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most) {
      refuse(field, "must be an integer from " + std::to_string(least) + " to " + std::to_string(most) + ", is " +
                        value.dump());
    }
    return value.get<std::uint64_t>();
  }

  [[nodiscard]] const Json& list(const std::string& field) const {
    if (!at(field).is_array()) refuse(field, std::string("must be a list, is ") + at(field).type_name());
    return at(field);
  }

  /// A list of numbers, as long as it says.
  [[nodiscard]] std::vector<double> numbers(const std::string& field, double least) const {
    std::vector<double> values;
    for (const Json& value : list(field)) {
      values.push_back(checked(value, element(field, values.size()), least, std::numeric_limits<double>::max()));
    }
    return values;
  }

  [[nodiscard]] Object object(const std::string& field) const { return {at(field), file_, inside(field)}; }
  [[nodiscard]] Object object(const std::string& field, std::size_t index) const {
    return {list(field).at(index), file_, inside(element(field, index))};
  }

 private:
  static std::string element(const std::string& field, std::size_t index) {
    return field + "[" + std::to_string(index) + "]";
  }
  [[nodiscard]] std::string inside(const std::string& field) const {
    return path_.empty() ? field : path_ + "." + field;
  }
  [[nodiscard]] std::string where() const { return file_ + ": " + (path_.empty() ? "" : path_ + ": "); }

  [[nodiscard]] double checked(const Json& value, const std::string& field, double least, double most) const {
    if (!value.is_number()) refuse(field, std::string("must be a number, is ") + value.type_name());
    const auto number = value.get<double>();
    if (!(number >= least && number <= most)) {
      std::string range = "must be at least " + Json(least).dump();
      if (most < std::numeric_limits<double>::max()) range += " and at most " + Json(most).dump();
      refuse(field, range + ", is " + value.dump());
    }
    return number;
  }

  const Json& json_;
  std::string file_, path_;
};

Json parse(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) throw InputError(file.string() + ": cannot be read");
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t end = std::min(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    throw InputError(file.string() + ": line " + std::to_string(line) + ": not JSON");
  } catch (const Json::out_of_range&) {
    throw InputError(file.string() + ": a number is larger than any that a program can hold");
  }
}

Dimensions read_dimensions(const Object& root, const CaseSizes& changes) {
  constexpr std::uint64_t many = 1'000'000;
  Dimensions d;
  d.stages = root.integer("stages", 2, many);
  d.scenarios = changes.scenarios.value_or(root.integer("scenarios", 1, many));
  d.openings = changes.openings.value_or(root.integer("openings", 1, many));
  d.iterations = changes.iterations.value_or(root.integer("iterations", 1, many));
  d.seed = changes.seed.value_or(root.integer("seed", 0, std::numeric_limits<std::uint64_t>::max()));
  d.deficit_cost = root.number("deficit_cost", 0.0);
  d.discount = root.has("discount") ? root.number("discount", 0.0, 1.0) : 1.0;
  d.correlation = root.has("correlation") ? root.number("correlation", 0.0, 1.0) : 0.0;
  d.hydros = root.list("hydros").size();
  d.thermals = root.list("thermals").size();
  if (d.hydros == 0) root.refuse("hydros", "at least one is needed");
  if (d.hydros > many || d.thermals > many) root.refuse(d.hydros > many ? "hydros" : "thermals", "too many");
  d.order = root.object("hydros", 0).object("inflow").list("coefficients").size();
  if (d.order > 24) root.refuse("hydros[0].inflow.coefficients", "at most 24");
  return d;
}

/// One number for each stage; a shorter list begins again, as the seasons do.
std::vector<double> by_stage(const Object& object, const std::string& field, const Dimensions& d) {
  const std::vector<double> cycle = object.numbers(field, 0.0);
  if (cycle.empty() || cycle.size() > d.stages) {
    object.refuse(field, "needs one number a stage, or fewer that repeat: 1 to " + std::to_string(d.stages) + ", has " +
                             std::to_string(cycle.size()));
  }
  std::vector<double> values(d.stages);
  for (std::size_t t = 0; t < d.stages; ++t) values[t] = cycle[t % cycle.size()];
  return values;
}

void read_inflow(const Object& inflow, const EditableSystem& system, std::size_t h) {
  const Dimensions& d = system.dimensions();
  inflow.allow_only({"base", "variation", "coefficients", "history"});
  system.variation[h] = inflow.number("variation", 0.0, 10.0);
  const auto base = by_stage(inflow, "base", d);
  for (std::size_t t = 0; t < d.stages; ++t) system.base_inflow[t * d.hydros + h] = base[t];
  for (const auto& [field, target] : {std::pair{"coefficients", system.coefficient}, {"history", system.history}}) {
    const auto values = inflow.numbers(field, 0.0);
    if (values.size() != d.order) {
      inflow.refuse(field, "needs " + std::to_string(d.order) + " numbers, as many as the first plant has, has " +
                               std::to_string(values.size()));
    }
    for (std::size_t lag = 0; lag < d.order; ++lag) target[lag * d.hydros + h] = values[lag];
  }
}

void read_hydro(const Object& hydro, const EditableSystem& system, std::size_t h) {
  hydro.allow_only({"name", "storage_max", "storage_initial", "turbine_max", "productivity", "downstream", "inflow"});
  system.storage_max[h] = hydro.number("storage_max", 0.0);
  system.storage_initial[h] = hydro.number("storage_initial", 0.0, system.storage_max[h]);
  system.turbine_max[h] = hydro.number("turbine_max", 0.0);
  system.productivity[h] = hydro.number("productivity", 0.0);
  read_inflow(hydro.object("inflow"), system, h);
}

/// Water only flows down: following `downstream` from any plant must reach the sea.
void connect(const Object& root, const EditableSystem& system, const std::vector<std::string>& names) {
  for (std::size_t h = 0; h < names.size(); ++h) {
    const Object hydro = root.object("hydros", h);
    const bool to_sea = !hydro.has("downstream") || hydro.at("downstream").is_null();
    const auto found = to_sea ? names.end() : std::ranges::find(names, hydro.text("downstream"));
    if (!to_sea && found == names.end())
      hydro.refuse("downstream", "no plant is called " + hydro.at("downstream").dump());
    system.set_downstream(h, static_cast<std::size_t>(found - names.begin()));
  }
  for (std::size_t h = 0; h < names.size(); ++h) {
    std::size_t plant = h;
    for (std::size_t steps = 0; plant < names.size(); plant = system.downstream(plant)) {
      if (steps++ == names.size()) root.object("hydros", h).refuse("downstream", "the water would flow in a circle");
    }
  }
}

std::string read_name(const Object& object, const std::vector<std::string>& taken) {
  const std::string name = object.text("name");
  if (std::ranges::find(taken, name) != taken.end()) object.refuse("name", "two plants are called \"" + name + "\"");
  return name;
}

}  // namespace

Case read_case(const std::filesystem::path& file, const CaseSizes& changes) {
  const Json json = parse(file);
  const Object root(json, file.string(), "");
  root.allow_only({"name", "stages", "scenarios", "openings", "iterations", "seed", "deficit_cost", "discount",
                   "correlation", "demand", "hydros", "thermals"});
  Case result(read_dimensions(root, changes));
  const Dimensions& d = result.dimensions;
  const EditableSystem system = result.edit();
  result.name = root.text("name");
  std::ranges::copy(by_stage(root, "demand", d), system.demand.begin());
  for (std::size_t h = 0; h < d.hydros; ++h) {
    const Object hydro = root.object("hydros", h);
    result.hydros[h] =
        read_name(hydro, {result.hydros.begin(), result.hydros.begin() + static_cast<std::ptrdiff_t>(h)});
    read_hydro(hydro, system, h);
  }
  for (std::size_t k = 0; k < d.thermals; ++k) {
    const Object thermal = root.object("thermals", k);
    thermal.allow_only({"name", "capacity", "cost"});
    result.thermals[k] = read_name(thermal, {});
    system.capacity[k] = thermal.number("capacity", 0.0);
    system.cost[k] = thermal.number("cost", 0.0);
  }
  connect(root, system, result.hydros);
  return result;
}

std::string write_case(const Case& data) {
  const Dimensions& d = data.dimensions;
  const System system = data.system();
  Json json = {
      {"name", data.name},           {"stages", d.stages}, {"scenarios", d.scenarios},       {"openings", d.openings},
      {"iterations", d.iterations},  {"seed", d.seed},     {"deficit_cost", d.deficit_cost}, {"discount", d.discount},
      {"correlation", d.correlation}};
  json["demand"] = std::vector<double>(system.demand.begin(), system.demand.end());
  for (std::size_t h = 0; h < d.hydros; ++h) {
    const auto column = [&](std::span<const double> table, std::size_t rows) {
      std::vector<double> values;
      values.reserve(rows);
      for (std::size_t row = 0; row < rows; ++row) values.push_back(table[row * d.hydros + h]);
      return values;
    };
    const std::size_t below = system.downstream(h);
    json["hydros"].push_back({{"name", data.hydros[h]},
                              {"storage_max", system.storage_max[h]},
                              {"storage_initial", system.storage_initial[h]},
                              {"turbine_max", system.turbine_max[h]},
                              {"productivity", system.productivity[h]},
                              {"downstream", below < d.hydros ? Json(data.hydros[below]) : Json(nullptr)},
                              {"inflow",
                               {{"base", column(system.base_inflow, d.stages)},
                                {"variation", system.variation[h]},
                                {"coefficients", column(system.coefficient, d.order)},
                                {"history", column(system.history, d.order)}}}});
  }
  json["thermals"] = Json::array();
  for (std::size_t k = 0; k < d.thermals; ++k) {
    json["thermals"].push_back(
        {{"name", data.thermals[k]}, {"capacity", system.capacity[k]}, {"cost", system.cost[k]}});
  }
  return json.dump(1) + "\n";
}

}  // namespace sddp
