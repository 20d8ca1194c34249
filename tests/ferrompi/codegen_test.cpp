// With the checks off the wrapper is the plain call: looks at the machine code of codegen/functions.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

struct Function {
  std::vector<std::string> calls;  // in order, by the name of the callee
  int branches = 0;                // conditional ones
  int instructions = 0;
};

// Every function of the object file, as `objdump` shows it; what the compiler moved to a cold section apart.
std::map<std::string, Function> disassemble() {
  std::map<std::string, Function> functions;
  const std::regex head(R"(^[0-9a-f]+ <(\S+)>:$)");
  const std::regex instruction(R"(^\s+[0-9a-f]+:\s+(?:bnd |notrack )?([a-z]+).*)");
  const std::regex relocation(R"(^\s+[0-9a-f]+: R_X86_64_(?:PLT32|PC32|GOTPCREL\w*)\s+([A-Za-z_0-9]+).*)");
  FILE* pipe = popen("objdump -dr --no-show-raw-insn " FERROMPI_CODEGEN_OBJECT, "r");
  std::string line;
  Function* current = nullptr;
  bool is_call = false;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    std::smatch match;
    if (std::regex_match(line, match, head)) {
      current = &functions[match[1]];
    } else if (current != nullptr && is_call && std::regex_match(line, match, relocation)) {
      current->calls.push_back(match[1]);
      is_call = false;
    } else if (current != nullptr && std::regex_match(line, match, instruction)) {
      const auto name = match[1].str();
      is_call = name == "call" || name == "callq" || name == "jmp" || name == "jmpq";
      if (name.front() == 'j' && name != "jmp" && name != "jmpq") ++current->branches;
      if (name != "nop" && name != "nopw" && name != "nopl" && name != "xchg") ++current->instructions;
    }
    line.clear();
  }
  pclose(pipe);
  return functions;
}

class Codegen : public testing::Test {
 protected:
  // A function and the part of it that the compiler took to be cold.
  Function whole(const std::string& name) {
    EXPECT_TRUE(functions_.contains(name)) << name;
    Function result = functions_[name];
    const auto cold = functions_[name + ".cold"];
    result.calls.insert(result.calls.end(), cold.calls.begin(), cold.calls.end());
    result.branches += cold.branches;
    result.instructions += cold.instructions;
    std::erase_if(result.calls, [&](const std::string& call) { return call.find(name) != std::string::npos; });
    return result;
  }

  // Without what the compiler took to be cold.
  Function likely(const std::string& name) { return functions_[name]; }

  void expect_same(const std::string& operation) {
    const auto wrapped = whole("wrapped_" + operation);
    const auto plain = whole("plain_" + operation);
    EXPECT_FALSE(plain.calls.empty());
    EXPECT_EQ(wrapped.calls, plain.calls) << operation;
    EXPECT_EQ(wrapped.branches, plain.branches) << operation;
    EXPECT_LE(wrapped.instructions, plain.instructions + 2) << operation;
  }

 private:
  std::map<std::string, Function> functions_ = disassemble();
};

}  // namespace

TEST_F(Codegen, OfAnAllreduceIsThatOfThePlainCall) {
  expect_same("allreduce");
}
TEST_F(Codegen, OfABroadcastIsThatOfThePlainCall) {
  expect_same("broadcast");
}
TEST_F(Codegen, OfABarrierIsThatOfThePlainCall) {
  expect_same("barrier");
}
TEST_F(Codegen, OfOneValueIsThatOfThePlainCall) {
  expect_same("value");
}

// The branch leads to the way for counts that an int does not hold, and that is one call.
TEST_F(Codegen, OfALengthAtRunTimeHasOneBranchAndOneCallMore) {
  const auto wrapped = whole("wrapped_dynamic");
  const auto plain = whole("plain_dynamic");
  auto more = wrapped.calls;
  for (const auto& call : plain.calls) {
    const auto same = std::ranges::find(more, call);
    ASSERT_NE(same, more.end()) << call;
    more.erase(same);
  }
  ASSERT_EQ(more.size(), 1U) << testing::PrintToString(wrapped.calls);
  const bool is_mpi = more.front() == "MPI_Allreduce_c";
  EXPECT_TRUE(is_mpi || more.front().find("launch_shrunk") != std::string::npos) << more.front();
#ifdef __clang__
  const int checks = is_mpi ? 1 : 0;  // looks at the return code of each call by itself
#else
  const int checks = 0;
#endif
  EXPECT_EQ(wrapped.branches, plain.branches + 1 + checks);
}

TEST_F(Codegen, OfALengthAtRunTimeIsThatOfAPlainCallThatLooksWhetherAnIntCountsIt) {
  auto wrapped = whole("wrapped_dynamic");
  auto plain = whole("plain_counted");
  // Each has its own way for what an int does not count, where MPI has none.
  for (auto* calls : {&wrapped.calls, &plain.calls}) {
    for (auto& call : *calls) {
      if (call == "plain_beyond_int" || call.find("launch_shrunk") != std::string::npos) call = "beyond_int";
    }
    std::ranges::sort(*calls);
  }
  EXPECT_EQ(wrapped.calls, plain.calls);
  EXPECT_EQ(wrapped.branches, plain.branches);
#ifndef __clang__  // which leaves the way out where it is
  EXPECT_LE(likely("wrapped_dynamic").instructions, likely("plain_counted").instructions + 2);
#endif
}

// Once the segment is at hand: all that comes before is whether the window was moved from.
TEST_F(Codegen, OfReadingAWindowIsThatOfReadingMemory) {
  const auto wrapped = whole("wrapped_reading");
  const auto plain = whole("plain_reading");
  EXPECT_TRUE(plain.calls.empty());
  ASSERT_EQ(wrapped.calls.size(), 1U) << testing::PrintToString(wrapped.calls);
  EXPECT_NE(wrapped.calls.front().find("throw_moved_from_window"), std::string::npos) << wrapped.calls.front();
  EXPECT_EQ(wrapped.branches, plain.branches + 1);
}
