// What an operation ended with, in a form that a process can say.
#pragma once

#include <cobre/comm/errors.hpp>

#include <functional>
#include <string>
#include <vector>

namespace test {

inline std::string outcome_of(const std::function<void()>& operation) {
  using namespace cobre::comm;
  const auto list = [](const std::vector<std::size_t>& ranks) {
    std::string text;
    for (const std::size_t rank : ranks) text += " " + std::to_string(rank);
    return text;
  };
  try {
    operation();
    return "fine";
  } catch (const PeerFailed& error) {
    std::string text = "PeerFailed " + std::to_string(error.rank());
    if (error.signal()) text += " signal " + std::to_string(*error.signal());
    if (error.exit_code()) text += " exit " + std::to_string(*error.exit_code());
    return text;
  } catch (const TimedOut& error) {
    return "TimedOut" + list(error.missing_ranks());
  } catch (const CollectiveMismatch& error) {
    return "CollectiveMismatch " + error.field() + list(error.ranks());
  } catch (const InvalidCommunicator&) {
    return "InvalidCommunicator";
  } catch (const std::exception& error) {
    return std::string("other: ") + error.what();
  }
}

}  // namespace test
