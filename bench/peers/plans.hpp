// Plain calls beside plans that are set up once and started again: `persistent-broadcast` and its like.
#pragma once

#include <optional>

#include "our_ranks.hpp"

namespace bench {

/// One set of buffers, which both use in turns: a plan has the buffers that it was made for.
template <class Comm>
class Plans {
 public:
  Plans(const Comm& comm, std::string operation, std::size_t bytes)
      : comm_(comm),
        ranks_(comm),
        operation_(std::move(operation)),
        parts_(bytes / sizeof(double), comm.size()),
        send_(bytes / sizeof(double), 1.0),
        recv_(bytes / sizeof(double), 0.0) {}

  void run(Pace pace) {
    std::vector<double> setting_up(5);
    std::optional<cobre::comm::PersistentRequest> plan;
    for (double& time : setting_up) {
      plan.reset();
      comm_.barrier();
      const double begin = now();
      plan.emplace(make());
      time = now() - begin;
    }
    ranks_.slowest(setting_up);
    const auto start_and_wait = [&](std::size_t) {
      plan->start();
      plan->wait();
    };
    check([&] { start_and_wait(0); });
    check([&] { call(); });
    // Half of each, twice: what the machine does meanwhile hits both.
    pace.total /= 2;
    std::vector<double> plain, planned;
    for (int half = 0; half < 2; ++half) {
      append(plain, sample(ranks_, 1, pace, [&](std::size_t) { call(); }));
      append(planned, sample(ranks_, 1, pace, start_and_wait));
    }
    check([&] { start_and_wait(0); });
    if (ranks_.rank != 0) return;
    const std::size_t bytes = send_.size() * sizeof(double);
    report(operation_, bytes, plain);
    report(operation_ + "_init", bytes, planned);
    report(operation_ + "_setup", bytes, setting_up);
  }

 private:
  static void append(std::vector<double>& to, const std::vector<double>& values) {
    to.insert(to.end(), values.begin(), values.end());
  }

  [[nodiscard]] std::span<const double> own() const { return std::span(send_).first(parts_.counts[comm_.rank()]); }

  [[nodiscard]] cobre::comm::PersistentRequest make() {
    if (operation_ == "broadcast") return comm_.broadcast_init(recv_, 0);
    if (operation_ == "allgatherv") return comm_.allgatherv_init(own(), recv_, parts_.counts, parts_.displs);
    return comm_.allreduce_init(send_, recv_, cobre::comm::ReduceOp::Sum);
  }

  void call() {
    if (operation_ == "broadcast") {
      ranks_.broadcast(recv_);
    } else if (operation_ == "allgatherv") {
      ranks_.allgatherv(own(), recv_, parts_);
    } else {
      ranks_.allreduce(send_, recv_);
    }
  }

  template <class Call>
  void check(const Call& call) {
    const bool sends = operation_ != "broadcast" || ranks_.rank == 0;
    const double expected = operation_ == "allreduce" ? static_cast<double>(comm_.size()) : 1.0;
    std::fill(recv_.begin(), recv_.end(), operation_ == "broadcast" && sends ? 1.0 : 0.0);
    call();
    for (const double value : recv_) {
      if (value == expected) continue;
      std::fprintf(stderr, "rank %d: wrong data in %s of %zu bytes\n", ranks_.rank, operation_.c_str(),
                   recv_.size() * sizeof(double));
      std::exit(1);
    }
  }

  const Comm& comm_;
  OurRanks<Comm> ranks_;
  std::string operation_;
  Parts parts_;
  std::vector<double> send_, recv_;
};

}  // namespace bench
