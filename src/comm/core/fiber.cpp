#include "comm/core/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "comm/core/stack_notes.hpp"

namespace cobre::comm::core {
namespace {

// Only what is touched costs memory. Enough for whatever a reduction of the user's may put there.
constexpr std::size_t stack_bytes = std::size_t{1} << 20;

/// Memory for a stack, and below it, where one that needs more would go on, a page that must not be touched.
class StackMemory {
 public:
  StackMemory() {
    mapped_ =
        mmap(nullptr, guard_ + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    (void)mprotect(mapped_, guard_, PROT_NONE);
  }
  StackMemory(const StackMemory&) = delete;
  StackMemory& operator=(const StackMemory&) = delete;
  ~StackMemory() { (void)munmap(mapped_, guard_ + stack_bytes); }

  [[nodiscard]] void* begin() const noexcept { return static_cast<std::byte*>(mapped_) + guard_; }

 private:
  std::size_t guard_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* mapped_;
};

/// What the runtime keeps for each thread about exceptions in flight: a fiber has its own. The layout is that of the
/// Itanium C++ ABI, section 2.2.2.
class ExceptionsInFlight {
 public:
  /// Exchanges them with those of this thread.
  void swap() noexcept {
    State now;
    void* const globals = abi::__cxa_get_globals();
    std::memcpy(&now, globals, sizeof(now));
    std::memcpy(globals, &kept_, sizeof(kept_));
    kept_ = now;
  }

 private:
  struct State {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  State kept_;
};

// Never inlined: after a switch the same function may run on another thread, and must ask again where its variables
// are.
[[gnu::noinline]] Fiber::Stack* get_running() noexcept {
  return fiber_detail::running;
}
[[gnu::noinline]] void set_running(Fiber::Stack* stack) noexcept {
  fiber_detail::running = stack;
}

}  // namespace

constinit thread_local Fiber::Stack* fiber_detail::running = nullptr;

struct Fiber::Stack {
  Stack() : notes(memory.begin(), stack_bytes) {
    (void)getcontext(&own);
    own.uc_stack.ss_sp = memory.begin();
    own.uc_stack.ss_size = stack_bytes;
    own.uc_link = nullptr;
    makecontext(&own, &Stack::main, 0);
  }

  void enter() {
    set_running(this);
    exceptions.swap();
    notes.before_enter();
    (void)swapcontext(&resumer, &own);
    notes.left();
    exceptions.swap();
    set_running(nullptr);
  }

  void leave() {
    notes.before_leave();
    (void)swapcontext(&own, &resumer);
    notes.entered();
  }

  // One body after another; between them the stack holds nothing that anybody would miss.
  static void main() {
    Stack& stack = *get_running();
    stack.notes.entered();
    for (;;) {
      stack.body(stack.argument);
      stack.done = true;
      stack.leave();
    }
  }

  StackMemory memory;
  StackNotes notes;
  ExceptionsInFlight exceptions;
  ucontext_t own{};
  ucontext_t resumer{};
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
  bool done = true;
  bool patient = false;
};

Fiber::Fiber() : stack_(std::make_unique<Stack>()) {}
Fiber::~Fiber() = default;

void Fiber::start(void (*body)(void*), void* argument) {
  stack_->body = body;
  stack_->argument = argument;
  stack_->done = false;
  resume();
}

void Fiber::resume(Patience patience) {
  stack_->patient = patience == Patience::Yes;
  stack_->enter();
}

bool Fiber::done() const noexcept {
  return stack_->done;
}

Footing fiber_detail::footing_on(const Fiber::Stack& stack) noexcept {
  return stack.patient ? Footing::PatientFiber : Footing::Fiber;
}

void leave_fiber() {
  get_running()->leave();
}

}  // namespace cobre::comm::core
