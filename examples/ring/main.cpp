// A token goes round: each rank in its turn adds what only it knows and hands it on. When the ring is closed, everyone
// has the whole story, and checks it.
#include <cobre/comm.hpp>

#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace {

struct Token {
  std::uint64_t visits = 0;
  std::uint64_t story = 0;  // a decimal digit a visitor

  [[nodiscard]] Token visited_by(std::size_t rank) const { return {visits + 1, story * 10 + (rank + 1) % 10}; }
};

}  // namespace

int main() {
  return cobre::comm::run([](const auto& comm) {
    Token token, expected;
    for (std::size_t holder = 0; holder < comm.size(); ++holder) {
      if (comm.rank() == holder) token = token.visited_by(holder);
      token = comm.broadcast(token, holder);
      expected = expected.visited_by(holder);
    }
    if (token.visits != expected.visits || token.story != expected.story) throw std::runtime_error("the token is lost");
    if (comm.rank() == 0) {
      std::printf("the token saw %llu rank(s): %llu\n", static_cast<unsigned long long>(token.visits),
                  static_cast<unsigned long long>(token.story));
    }
  });
}
