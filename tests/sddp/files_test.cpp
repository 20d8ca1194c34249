// What is read from files: cases and checkpoints, and what is said of broken ones.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint.hpp"
#include "options.hpp"
#include "report.hpp"
#include "resources.hpp"
#include "training.hpp"

namespace {

class Files : public testing::Test {
 protected:
  Files() { std::filesystem::create_directories(folder_); }
  ~Files() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path write(const std::string& text) const {
    std::ofstream(folder_ / "case.json") << text;
    return folder_ / "case.json";
  }
  /// What reading says of the case after `change`, without the name of the file.
  std::string complaint(const std::function<void(nlohmann::ordered_json&)>& change) const {
    auto json = nlohmann::ordered_json::parse(sddp::write_case(test::small_case(3)));
    change(json);
    return complaint_about(json.dump());
  }
  std::string complaint_about(const std::string& text) const {
    const auto file = write(text);
    try {
      (void)sddp::read_case(file, {});
      return "fine";
    } catch (const sddp::InputError& error) {
      const std::string what = error.what(), name = file.string() + ": ";
      EXPECT_TRUE(what.starts_with(name)) << what;
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
      return what.substr(name.size());
    }
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("sddp-test-" + std::to_string(getpid()));
};

TEST_F(Files, ACaseComesBackAsItWasWritten) {
  const sddp::Case written = test::small_case(3);
  const sddp::Case read = sddp::read_case(write(sddp::write_case(written)), {});
  EXPECT_EQ(read.dimensions, written.dimensions);
  EXPECT_EQ(read.numbers, written.numbers);
  EXPECT_EQ(read.hydros, written.hydros);
}

TEST(Cases, ThatComeWithTheProgramCanBeRead) {
  for (const auto& [name, stages] : {std::pair("small", 12U), std::pair("medium", 24U)}) {
    const sddp::Case read = sddp::read_case(std::string(SDDP_CASES "/") + name + ".json", {});
    EXPECT_EQ(read.name, name);
    EXPECT_EQ(read.dimensions.stages, stages);
    EXPECT_FALSE(read.hydros.empty());
  }
}

TEST_F(Files, ABrokenCaseIsNamedByFieldAndReason) {
  using Json = nlohmann::ordered_json;
  EXPECT_EQ(complaint([](Json&) {}), "fine");
  EXPECT_EQ(complaint([](Json& j) { j.erase("stages"); }), "stages: missing");
  EXPECT_EQ(complaint([](Json& j) { j["stagse"] = 3; }), "stagse: unknown field");
  EXPECT_EQ(complaint([](Json& j) { j["stages"] = 1; }), "stages: must be an integer from 2 to 1000000, is 1");
  EXPECT_EQ(complaint([](Json& j) { j["stages"] = 2.5; }), "stages: must be an integer from 2 to 1000000, is 2.5");
  EXPECT_EQ(complaint([](Json& j) { j["discount"] = 1.5; }), "discount: must be at least 0.0 and at most 1.0, is 1.5");
  EXPECT_EQ(complaint([](Json& j) { j["demand"] = "much"; }), "demand: must be a list, is string");
  EXPECT_EQ(complaint([](Json& j) { j["demand"] = Json::array(); }),
            "demand: needs one number a stage, or fewer that repeat: 1 to 3, has 0");
  EXPECT_EQ(complaint([](Json& j) { j["hydros"][1]["turbine_max"] = -3; }),
            "hydros[1].turbine_max: must be at least 0.0, is -3");
  EXPECT_EQ(complaint([](Json& j) { j["hydros"][0]["inflow"]["base"][1] = "wet"; }),
            "hydros[0].inflow.base[1]: must be a number, is string");
  EXPECT_EQ(complaint([](Json& j) { j["hydros"][1]["inflow"]["history"] = {1.0}; }),
            "hydros[1].inflow.history: needs 2 numbers, as many as the first plant has, has 1");
  EXPECT_EQ(complaint([](Json& j) { j["hydros"][1]["downstream"] = "the moon"; }),
            "hydros[1].downstream: no plant is called \"the moon\"");
  EXPECT_EQ(complaint([](Json& j) { j["hydros"][1]["downstream"] = j["hydros"][0]["name"]; }),
            "hydros[0].downstream: the water would flow in a circle");
  EXPECT_EQ(complaint([](Json& j) { j["hydros"][1]["name"] = j["hydros"][0]["name"]; }),
            "hydros[1].name: two plants are called \"river 1 dam 1\"");
  EXPECT_EQ(complaint([](Json& j) { j["thermals"][0] = 7; }), "thermals[0]: must be an object, is number");
  EXPECT_EQ(complaint_about("{\n\"stages\": ,\n}"), "line 2: not JSON");
}

TEST_F(Files, ACheckpointComesBackBitForBit) {
  const sddp::Case data = test::small_case(4);
  const sddp::Dimensions& d = data.dimensions;
  sddp::Checkpoint written;
  written.trace = test::train(data);
  const std::size_t slots = (d.stages - 1) * d.iterations * d.scenarios;
  for (std::size_t i = 0; i < slots * sddp::Cut::width(d); ++i)
    written.cuts.push_back(1.0 / static_cast<double>(i + 1));
  written.states.assign(slots * d.state(), 0.1);
  const auto file = folder_ / "checkpoint";
  const std::uint64_t print = sddp::fingerprint(data.system(), false);
  sddp::write_checkpoint(file, print, written);
  const sddp::Checkpoint read = sddp::read_checkpoint(file, print, d);
  EXPECT_EQ(read.cuts, written.cuts);
  EXPECT_EQ(read.states, written.states);
  ASSERT_EQ(read.trace.size(), written.trace.size());
  EXPECT_EQ(read.trace.back().lower, written.trace.back().lower);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "checkpoint.new"));

  const auto complaint = [&](std::uint64_t expected, const sddp::Dimensions& dimensions) -> std::string {
    try {
      (void)sddp::read_checkpoint(file, expected, dimensions);
      return "fine";
    } catch (const sddp::InputError& error) {
      return std::string(error.what()).substr(file.string().size());
    }
  };
  EXPECT_EQ(complaint(print + 1, d), ": is the checkpoint of another case, or of other options");
  EXPECT_EQ(complaint(print, test::small_case(2).dimensions), ": holds 4 iterations, the case wants only 2");
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(500).put('x');
  EXPECT_EQ(complaint(print, d), ": is damaged: its checksum does not fit");
  std::filesystem::resize_file(file, 400);
  EXPECT_EQ(complaint(print, d), ": is damaged: its checksum does not fit");
  std::filesystem::resize_file(file, 5);
  EXPECT_EQ(complaint(print, d), ": is not a checkpoint");
}

TEST_F(Files, TheFingerprintSeesEveryNumberButNotTheIterations) {
  const std::uint64_t print = sddp::fingerprint(test::small_case(4).system(), false);
  EXPECT_EQ(sddp::fingerprint(test::small_case(9).system(), false), print);
  EXPECT_NE(sddp::fingerprint(test::small_case(4).system(), true), print);
  sddp::Case changed = test::small_case(4);
  for (double& number : changed.numbers) {
    number += 1.0;
    EXPECT_NE(sddp::fingerprint(changed.system(), false), print);
    number -= 1.0;
  }
}

TEST(Options, WrongOnesAreRefusedWithTheReason) {
  const auto complaint = [](std::vector<const char*> arguments) -> std::string {
    try {
      (void)sddp::parse_options(arguments);
      return "fine";
    } catch (const sddp::InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(complaint({"--stages", "12", "--seed=7", "--select-cuts"}), "fine");
  EXPECT_EQ(complaint({"--stages", "one"}), "--stages: must be a number from 2 to 1000000, is \"one\"");
  EXPECT_EQ(complaint({"--stages"}), "--stages: needs a value");
  EXPECT_EQ(complaint({"--select-cuts=1"}), "--select-cuts: takes no value");
  EXPECT_EQ(complaint({"--stagse=3"}), "--stagse=3: unknown option; --help lists them all");
  EXPECT_EQ(complaint({"a.json", "b.json"}), "b.json: there is a case already: a.json");
  EXPECT_EQ(complaint({"a.json", "--hydros", "3"}),
            "a.json: a case from a file has its own stages, hydros, thermals and order");
}

TEST(Resources, SlurmGivesThreadsAndMemoryUnasked) {
  setenv("SLURM_CPUS_PER_TASK", "3", 1);
  setenv("SLURM_MEM_PER_NODE", "100", 1);
  EXPECT_EQ(sddp::threads_of_rank(0), 3);
  EXPECT_EQ(sddp::threads_of_rank(2), 2);
  EXPECT_NO_THROW(sddp::check_memory(100U << 20));
  EXPECT_THROW(sddp::check_memory((100U << 20) + 1), sddp::InputError);
  unsetenv("SLURM_CPUS_PER_TASK");
  unsetenv("SLURM_MEM_PER_NODE");
  EXPECT_EQ(sddp::threads_of_rank(0), 1);
  EXPECT_NO_THROW(sddp::check_memory(UINT64_MAX));
  setenv("SLURM_MEM_PER_CPU", "50", 1);
  setenv("SLURM_CPUS_ON_NODE", "2", 1);
  EXPECT_NO_THROW(sddp::check_memory(100U << 20));
  EXPECT_THROW(sddp::check_memory((100U << 20) + 1), sddp::InputError);
  setenv("SLURM_MEM_PER_NODE", "0", 1);  // all that the node has, whatever is said of each CPU
  EXPECT_NO_THROW(sddp::check_memory((100U << 20) + 1));
  for (const char* const name : {"SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE"}) unsetenv(name);
}

}  // namespace
