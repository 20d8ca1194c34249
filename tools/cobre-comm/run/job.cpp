#include "job.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "comm/core/format.hpp"
#include "comm/topology/host.hpp"
#include "supervisor.hpp"

namespace cobre::command {
namespace {

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {comm::core::Descriptor(ends[0]), comm::core::Descriptor(ends[1])};
}

}  // namespace

Job::Job(const JobPlan& plan, FrameReader* orders)
    : plan_(plan),
      orders_(orders),
      host_(comm::topology::host_name()),
      input_(orders != nullptr     ? Input::Way::Fed
             : plan.relays.empty() ? Input::Way::HandedOver
                                   : Input::Way::Relayed),
      witness_(plan.first_rank, plan.relays.empty() ? plan.children() : 0, plan.job_ranks),
      endings_(plan.children()),
      heard_(plan.relays.size()),
      reports_(make_pipe()) {}

int Job::run() {
  try {
    start();
    if (orders_ != nullptr) follow_orders();  // those that came together with the plan
    // Who asks twice does not want to wait for a reader of our output either.
    while (running_ > 0 || (!asked_twice_ && (output_.pending() || errors_.pending()))) {
      wait_for_something();
      look_for_endings();
      is_relay() ? decide_which_host_failed() : decide_who_failed();
      press_on();
    }
  } catch (...) {
    end_all();
    throw;
  }
  end_all();
  return exit_code_;
}

void Job::start() {
  const std::size_t children = plan_.children();
  // A rank that has the streams to itself may print as it likes, prompts included.
  const bool alone = plan_.job_ranks == 1 && !plan_.tag;
  const SecretFile secret(plan_.secret);
  sources_.reserve(2 * children);
  for (std::size_t child = 0; child < children; ++child) {
    Pipe output = make_pipe();
    Pipe errors = make_pipe();
    RankStart start{.program = plan_.program,
                    .arguments = plan_.arguments,
                    .environment = {},
                    .input = rank_of(child) == 0 ? input_.for_rank_0() : input_.for_others(),
                    .output = output.write.get(),
                    .errors = errors.write.get(),
                    .inherited = {},
                    .cpus = {},
                    .signals = signals_.original_mask()};
    Outbox outbox;
    if (is_relay()) {
      start.arguments = plan_.relays[child].command;
      outbox = Outbox(plan_.relays[child].plan);
      start.input = outbox.far();
    } else {
      prepare_rank(start, child, secret);
    }
    pids_.push_back(spawn(start, reports_.write.get()));
    keeper_.watch(pids_.back());
    ++running_;
    outbox.let_go();
    outboxes_.push_back(std::move(outbox));
    sources_.push_back({std::move(output.read), {tag(child, plan_.colour_output), alone}, &output_});
    sources_.push_back(
        {std::move(errors.read), {tag(child, plan_.colour_errors), alone, is_relay() ? plan_.mark : ""}, &errors_});
  }
  input_.let_go();
  witness_.let_go();
  reports_.write = {};
  if (plan_.timeout) deadline_ = Clock::now() + *plan_.timeout;
}

void Job::prepare_rank(RankStart& start, std::size_t child, const SecretFile& secret) const {
  start.environment = plan_.environments[child];
  start.cpus = plan_.cpus[child];
  if (secret) {
    start.inherited.push_back(secret.descriptor());
    start.environment.push_back(secret.variable());
  }
  for (const auto& handed : {rank_of(child) == 0 ? witness_.for_rank_0() : std::nullopt, witness_.ledger(child)}) {
    if (!handed) continue;
    start.inherited.push_back(handed->descriptor);
    start.environment.push_back(handed->variable);
  }
}

std::string Job::tag(std::size_t child, bool colour) const {
  if (!plan_.tag || is_relay()) return "";  // an agent has put its tags on already
  const std::size_t rank = rank_of(child);
  const std::size_t width = std::to_string(plan_.job_ranks - 1).size();
  constexpr std::array colours{36, 33, 32, 35, 34, 31};
  const std::string text = comm::core::format("[{:>{}}]", rank, width);
  return colour ? comm::core::format("\x1b[{}m{}\x1b[0m ", colours[rank % colours.size()], text) : text + " ";
}

// Whatever the ranks have started and left behind; then the zombies that kept their numbers.
void Job::end_all() {
  signal_all(SIGKILL);
  for (const pid_t rank : pids_) (void)waitpid(rank, nullptr, 0);
}

void Job::signal_all(int signal) {
  // An agent passes signals on to its ranks, and kills them when its line is cut.
  for (std::size_t child = 0; child < pids_.size(); ++child) {
    if (is_relay() && signal != SIGKILL) {
      outboxes_[child].add(packed(FrameKind::Signal, std::to_string(signal)));
    } else {
      (void)kill(-pids_[child], signal);
    }
  }
}

int run_job(const JobPlan& plan) {
  return Job(plan, nullptr).run();
}

int run_job(const JobPlan& plan, FrameReader& orders) {
  return Job(plan, &orders).run();
}

}  // namespace cobre::command
