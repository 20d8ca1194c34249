// What tests of wrong arguments have in common.
#pragma once

#include "ferrompi/ranks.hpp"

#include <string>

/// Afterwards the communicator is as good as before.
class Errors : public Ranks {
 protected:
  void TearDown() override {
    EXPECT_EQ(world.allreduce(1, ferrompi::ReduceOp::Sum), size) << "the communicator is still good";
  }

  std::vector<double> one = std::vector<double>(1);
  std::vector<double> many = std::vector<double>(ranks);
  std::vector<double> odd = std::vector<double>(ranks + 1);
};

template <class Call>
void expect_class(ferrompi::ErrorClass expected, const char* operation, Call call) {
  const auto error = error_of<ferrompi::MpiError>(call);
  EXPECT_EQ(error.error_class(), expected) << error.what();
  EXPECT_EQ(error.operation(), operation);
  const std::string text = error.what();
  EXPECT_EQ(text.rfind(std::string("MPI error in ") + operation + ": ", 0), 0U) << text;
  EXPECT_NE(text.find(std::string("(class=") + to_string(expected) + ", code="), std::string::npos) << text;
}

template <class Error, class Call>
void expect_error(const char* operation, const std::string& part, Call call) {
  const auto error = error_of<Error>(call);
  EXPECT_EQ(error.operation(), operation);
  EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
}
