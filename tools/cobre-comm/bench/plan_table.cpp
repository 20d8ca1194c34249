#include "plan_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "comm/core/format.hpp"
#include "options.hpp"
#include "table.hpp"

namespace cobre::command::bench {
namespace {

using comm::core::format;

constexpr std::array iterations{10, 100, 1000, 10'000};

const Record* plan_of(const Record& plain, const std::vector<Record>& records) {
  const std::string operation = plain.operation + std::string(plan_suffix);
  const auto found = std::ranges::find_if(records, [&](const Record& one) {
    return one.operation == operation && one.bytes == plain.bytes && one.ranks == plain.ranks &&
           one.contestant == plain.contestant;
  });
  return found == records.end() ? nullptr : &*found;
}

std::string row(const Record& plain, const Record& plan) {
  const double setup = plan.setup.value_or(0);
  const double each = plan.summary.median;
  std::string line =
      format("{:<11}{:>10}{:>6}  {:<12}{:>10}{:>12}{:>10}", plain.operation, plain.bytes, plain.ranks,
             plain.contestant->name, microseconds(plain.summary.median), microseconds(each), microseconds(setup));
  for (const int count : iterations) line += format("{:>10}", microseconds(each + setup / count));
  const double gain = plain.summary.median - each;
  line += gain > 0 ? format("{:>12.0f}", std::ceil(setup / gain)) : format("{:>12}", "never");
  return line + "\n";
}

}  // namespace

std::string as_table_of_plans(const Run& run, const std::vector<Record>& records) {
  std::string text = format(
      "\nA plain call, and a plan with its set-up spread over so many calls: microseconds, on {} cores\n", run.cores);
  text += format("{:<11}{:>10}{:>6}  {:<12}{:>10}{:>12}{:>10}", "operation", "bytes", "ranks", "who", "plain",
                 "persistent", "set-up");
  for (const int count : iterations) text += format("{:>10}", format("x {}", count));
  text += format("{:>12}\n", "pays after");
  for (const Record& plain : records) {
    if (const Record* const plan = plan_of(plain, records)) text += row(plain, *plan);
  }
  return text + notes(run);
}

}  // namespace cobre::command::bench
