// One scene of the life of an MPI program, chosen by name; `launch_test` watches how it ends. A scene that goes as it
// should says "done" on every rank.
#include <ferrompi/ferrompi.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

using namespace ferrompi;

namespace {

struct Point {
  double x;
  char y;
};

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not as expected: %s\n", what);
  std::fflush(nullptr);
  std::abort();
}

// What MPI says and what it is asked for, seen from below the library.
struct {
  std::optional<int> granted;   // the thread level that MPI is made to name
  int init_code = MPI_SUCCESS;  // what MPI is made to answer when it is to start
  int types_made = 0;
  int types_freed = 0;
  int duplicates = 0;               // of communicators, made and not freed
  bool all_is_in_progress = false;  // every request that there is
} seen;

#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__)

template <class E, class Call>
std::string text_of(Call call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <class E, class Call>
std::string operation_of(Call call) {
  try {
    call();
  } catch (const E& error) {
    return error.operation();
  }
  return "nothing was thrown";
}

void throw_on_rank_one(int rank) {
  if (rank == 1) throw std::runtime_error("the well is dry");
}

// Rank 1 fails with everything open while the others wait for it.
void exception_passes_through() {
  try {
    const auto mpi = Mpi::init();
    const auto world = mpi.world();
    const auto copy = world.duplicate();
    const auto node = world.split_shared();
    auto window = SharedWindow<double>::allocate(node, 10);
    std::vector<double> data(1000);
    auto receive = world.irecv(data, any_source, 5);
    auto collective = copy.iallreduce(std::vector<int>(100000, 1), ReduceOp::Sum);
    throw_on_rank_one(world.rank());
    window.fence();
    world.barrier();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cause: %s\n", error.what());
  }
}

void exception_is_not_caught() {
  const auto mpi = Mpi::init();
  const auto world = mpi.world();
  throw_on_rank_one(world.rank());
  world.barrier();
}

// The exception meets a request that can never finish before it meets the handler, which swallows it.
void request_cannot_finish() {
  const auto mpi = Mpi::init();
  const auto world = mpi.world();
  try {
    auto never = world.issend(std::vector<int>(1 << 20), (world.rank() + 1) % world.size(), 5);
    throw_on_rank_one(world.rank());
    world.barrier();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cause: %s\n", error.what());
  }
  world.barrier();
}

// The same with plans, which MPI would otherwise be asked to free: one of a collective operation and one of a message.
void plan_cannot_finish() {
  const auto mpi = Mpi::init();
  const auto world = mpi.world();
  try {
    std::vector<double> sum(1000);
    const std::vector<int> message(1 << 20);
    auto collective = world.allreduce_init_inplace(sum, ReduceOp::Sum);
    auto send = world.ssend_init(message, (world.rank() + 1) % world.size(), 5);
    world.barrier();
    if (world.rank() == 1) {
      collective.start();
      send.start();
      seen.all_is_in_progress = true;
    }
    throw_on_rank_one(world.rank());
    world.barrier();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cause: %s\n", error.what());
  }
  world.barrier();
}

// One process alone has nobody to keep waiting.
void exception_alone() {
  try {
    const auto mpi = Mpi::init();
    throw std::runtime_error("handled");
  } catch (const std::exception&) {
    EXPECT(Mpi::is_finalized());
    std::puts("done");
  }
}

void abort_ends_all() {
  const auto mpi = Mpi::init();
  const auto world = mpi.world();
  if (world.rank() == world.size() - 1) world.abort(7);
  world.barrier();
}

void after_finalize() {
  auto mpi = Mpi::init();
  auto world = mpi.world();
  const auto copy = world.duplicate();
  const auto leftover = world.split_shared();
  std::vector<double> data(4);
  auto plan = world.allreduce_init_inplace(data, ReduceOp::Sum);
  auto request = world.iallreduce_inplace(data, ReduceOp::Sum);
  request.wait();
  auto info = Info{{"key", "value"}};
  const auto first = info.begin();
  (void)world.allreduce(Point{1, 'a'}, [](const Point& a, const Point&) { return a; });
  auto sent = world.isend(Point{1, 'a'}, world.rank(), 3);
  auto message = world.mprobe(world.rank(), 3);
  Point point{};
  const auto status = message.recv(std::span(&point, 1));
  EXPECT(status.count() == 1 && status.count<Point>() == 1 && !status.cancelled());
  sent.wait();
  EXPECT(seen.types_made > seen.types_freed);
  mpi.finalize();
  mpi.finalize();
  EXPECT(seen.types_made == seen.types_freed);
  EXPECT(Mpi::is_finalized());
  const auto refused = [](auto call) { return text_of<MpiError>(call).find("MPI is finalized") != std::string::npos; };
  EXPECT(refused([&] { world.barrier(); }));
  EXPECT(refused([&] { (void)copy.allreduce(1, ReduceOp::Sum); }));
  EXPECT(refused([&] { (void)world.isend(data, 0, 0); }));
  EXPECT(refused([&] { (void)world.duplicate(); }));
  EXPECT(refused([&] { (void)world.duplicate(info); }));
  EXPECT(refused([&] { (void)world.split(0); }));
  EXPECT(refused([&] { (void)world.split_type(SplitType::Shared); }));
  EXPECT(refused([&] { (void)world.split_shared(); }));
  EXPECT(refused([&] { (void)world.split_shared(info); }));
  EXPECT(refused([&] { (void)world.name(); }));
  EXPECT(refused([&] { world.set_name("late"); }));
  EXPECT(refused([&] { (void)world.info(); }));
  EXPECT(refused([&] { world.set_info(info); }));
  EXPECT(refused([&] { (void)world.processor_name(); }));
  EXPECT(refused([&] { (void)world.topology(); }));
  EXPECT(refused([&] { (void)world.probe(any_source, any_tag); }));
  EXPECT(refused([&] { (void)world.iprobe(any_source, any_tag); }));
  EXPECT(refused([&] { (void)world.mprobe(any_source, any_tag); }));
  EXPECT(refused([&] { (void)world.improbe(any_source, any_tag); }));
  EXPECT(refused([&] { (void)SharedWindow<double>::allocate(leftover, 1); }));
  EXPECT(refused([&] { (void)mpi.world(); }));
  EXPECT(refused([&] { (void)mpi.self(); }));
  EXPECT(operation_of<MpiError>([&] { (void)mpi.world(); }) == "world");
  EXPECT(operation_of<MpiError>([&] { (void)mpi.self(); }) == "self");
  EXPECT(refused([&] { const Info made; }));
  EXPECT(refused([&] { info.set("key", "other"); }));
  EXPECT(refused([&] { (void)info.get("key"); }));
  EXPECT(refused([&] { (void)info.contains("key"); }));
  EXPECT(refused([&] { (void)info.erase("key"); }));
  EXPECT(refused([&] { (void)info.size(); }));
  EXPECT(refused([&] { (void)info.keys(); }));
  EXPECT(refused([&] { (void)*first; }));
  EXPECT(refused([&] { (void)info.duplicate(); }));
  EXPECT(refused([&] { plan.start(); }));
  EXPECT(refused([&] { (void)status.count(); }));
  EXPECT(refused([&] { (void)status.bytes(); }));
  EXPECT(refused([&] { (void)status.cancelled(); }));
  EXPECT(refused([&] { (void)message.count<Point>(); }));
  EXPECT(text_of<AlreadyInitialized>([] { (void)Mpi::init(); }).find("once") != std::string::npos);
  EXPECT(operation_of<AlreadyInitialized>([] { (void)Mpi::init_thread(ThreadLevel::Single); }) == "init_thread");
  EXPECT(!Mpi::version().empty() && !Mpi::library_version().empty());
  std::puts("done");
}

// What is under way when MPI is finalized by name, while its requests live on: receives that nobody sends to, a message
// that was not received yet, collective operations that every rank began, plans that were started.
void finalize_with_requests_under_way() {
  auto mpi = Mpi::init();
  const auto world = mpi.world();
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  std::vector<int> never(100, 42);
  std::vector<int> borrowed(100, 42);
  std::vector<int> sum(100, 1);
  auto receive = world.irecv(never, previous, 5);
  auto owning = world.irecv(std::vector<int>(100), previous, 6);
  auto sent = world.isend(std::vector<int>{world.rank()}, next, 7);
  auto barrier = world.ibarrier();
  auto reduction = world.iallreduce(std::vector<int>(100, 1), ReduceOp::Sum);
  auto called = world.iallreduce(std::vector<int>(100, 1), [](int a, int b) { return a + b; });
  auto receiving = world.recv_init(borrowed, previous, 8);
  receiving.start();
  auto plan = world.allreduce_init_inplace(sum, ReduceOp::Sum);
  plan.start();
  mpi.finalize();
  EXPECT(Mpi::is_finalized());
  const auto refused = [](auto call) { return text_of<MpiError>(call).find("MPI is finalized") != std::string::npos; };
  EXPECT(refused([&] { receive.wait(); }));
  EXPECT(refused([&] { (void)receive.test(); }));
  EXPECT(refused([&] { (void)receive.get_status(); }));
  EXPECT(refused([&] { receive.cancel(); }));
  EXPECT(refused([&] { (void)owning.get(); }));
  EXPECT(refused([&] { (void)sent.get(); }));
  EXPECT(refused([&] { barrier.wait(); }));
  EXPECT(refused([&] { (void)reduction.get(); }));
  EXPECT(refused([&] { (void)called.get(); }));
  EXPECT(refused([&] { receiving.wait(); }));
  EXPECT(refused([&] { (void)plan.test(); }));
  EXPECT(refused([&] { plan.cancel(); }));
  std::vector<Request> several;
  several.push_back(std::move(receive));
  EXPECT(refused([&] { wait_all(several); }));
  EXPECT(refused([&] { (void)test_any(several); }));
  EXPECT(never == std::vector<int>(100, 42) && borrowed == std::vector<int>(100, 42));
  std::puts("done");
}

void adopt_a_running_mpi() {
  EXPECT(text_of<Error>([] { (void)Communicator::borrow(MPI_COMM_WORLD); }).find("not running") != std::string::npos);
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
  {
    // Without any Mpi: a borrowed communicator works.
    const auto borrowed = Communicator::borrow(MPI_COMM_WORLD);
    EXPECT(borrowed.allreduce(1, ReduceOp::Sum) == borrowed.size());
  }
  std::vector<Communicator> views;
  for (int round = 0; round < 2; ++round) {
    const auto mpi = Mpi::init();
    EXPECT(mpi.adopted());
    const auto world = mpi.world();
    EXPECT(world.native() != MPI_COMM_WORLD);
    EXPECT(world.allreduce(1, ReduceOp::Sum) == world.size());
    EXPECT(mpi.self().size() == 1);
    views.push_back(mpi.world());
    views.push_back(mpi.self());
    EXPECT(text_of<AlreadyInitialized>([] { (void)Mpi::init(); }).find("already") != std::string::npos);
    const auto handler_of = [](MPI_Comm comm) {
      MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
      MPI_Comm_get_errhandler(comm, &handler);
      return handler;
    };
    EXPECT(handler_of(MPI_COMM_WORLD) == MPI_ERRORS_ARE_FATAL);
    EXPECT(handler_of(MPI_COMM_SELF) == MPI_ERRORS_ARE_FATAL);
    EXPECT(handler_of(world.native()) == MPI_ERRORS_RETURN);
    EXPECT(handler_of(mpi.self().native()) == MPI_ERRORS_RETURN);
    double in = 0;
    EXPECT(text_of<MpiError>([&] { world.recv(in, 0, -9); }).find("ERR_TAG") != std::string::npos);
  }
  EXPECT(!Mpi::is_finalized());
  EXPECT(seen.duplicates == 2);
  for (const auto& view : views) EXPECT(view.allreduce(1, ReduceOp::Sum) == view.size());
  if (provided < MPI_THREAD_MULTIPLE) {
    EXPECT(text_of<NotSupported>([] { (void)Mpi::init_thread(ThreadLevel::Multiple); }).find("Multiple") !=
           std::string::npos);
  }
  const auto borrowed = Communicator::borrow(MPI_COMM_WORLD);
  (void)borrowed.allreduce(Point{1, 'a'}, [](const Point& a, const Point&) { return a; });
  MPI_Finalize();
  EXPECT(seen.duplicates == 0);
  EXPECT(text_of<MpiError>([&] { views[0].barrier(); }).find("finalized") != std::string::npos);
  EXPECT(text_of<MpiError>([&] { borrowed.barrier(); }).find("finalized") != std::string::npos);
  std::puts("done");
}

void moved_environment() {
  auto first = Mpi::init();
  {
    const auto second = std::move(first);
    EXPECT(second.world().allreduce(1, ReduceOp::Sum) >= 1);
  }
  EXPECT(Mpi::is_finalized());
  std::puts("done");
}

// What is to be done before MPI ends: the latest first, and also what is added on the way.
void actions_at_finalize() {
  static std::string done;
  auto mpi = Mpi::init();
  detail::run_at_finalize([] { done += "first "; });
  detail::run_at_finalize([] {
    done += "second ";
    detail::run_at_finalize([] { done += "added "; });
  });
  mpi.finalize();
  EXPECT(done == "second added first ");
  std::puts("done");
}

// Who could not start MPI may try again.
void mpi_does_not_start() {
  seen.init_code = MPI_ERR_OTHER;
  EXPECT(operation_of<MpiError>([] { (void)Mpi::init(); }) == "init");
  EXPECT(operation_of<MpiError>([] { (void)Mpi::init_thread(ThreadLevel::Funneled); }) == "init_thread");
  EXPECT(!Mpi::is_initialized() && !Mpi::is_running());
  seen.init_code = MPI_SUCCESS;
  const auto mpi = Mpi::init();
  EXPECT(mpi.world().allreduce(1, ReduceOp::Sum) == mpi.world().size());
  std::puts("done");
}

// A library that grants less than it was asked for has to be ended again: nobody else can.
void too_low_a_thread_level() {
  seen.granted = MPI_THREAD_SINGLE;
  const auto text = text_of<NotSupported>([] { (void)Mpi::init_thread(ThreadLevel::Multiple); });
  EXPECT(text.find("ThreadLevel::Multiple is required") != std::string::npos);
  EXPECT(Mpi::is_finalized() && !Mpi::is_running());
  std::puts("done");
}

template <class Call>
std::string on_another_thread(Call call) {
  std::string text;
  std::thread([&] { text = text_of<MpiError>(call); }).join();
  return text;
}

void funneled_from_another_thread() {
  seen.granted = MPI_THREAD_FUNNELED;  // libraries may grant more
  const auto mpi = Mpi::init_thread(ThreadLevel::Funneled);
  const auto world = mpi.world();
  EXPECT(mpi.thread_level() == ThreadLevel::Funneled);
  const auto text = on_another_thread([&] { world.barrier(); });
  EXPECT(text.find("a thread other than") != std::string::npos);
  const auto refused = [](auto call) {
    return on_another_thread(call).find("ThreadLevel::Funneled") != std::string::npos;
  };
  EXPECT(refused([&] { (void)world.isend(1, 0, 0); }));
  EXPECT(refused([&] { (void)world.duplicate(); }));
  EXPECT(refused([&] { (void)world.name(); }));
  EXPECT(refused([&] { world.set_name("refused"); }));
  EXPECT(refused([&] { (void)world.processor_name(); }));
  EXPECT(refused([&] { (void)world.topology(); }));
  const auto name_of = [](auto call) {
    std::string name;
    std::thread([&] { name = operation_of<MpiError>(call); }).join();
    return name;
  };
  EXPECT(name_of([&] { (void)world.split_shared(); }) == "split_shared");
  EXPECT(name_of([&] { (void)world.split_type(SplitType::Shared); }) == "split_type");
  Info info{{"key", "value"}};
  EXPECT(refused([] { const Info made; }));
  EXPECT(refused([&] { info.set("key", "other"); }));
  EXPECT(refused([&] { (void)info.get("key"); }));
  EXPECT(refused([&] { (void)info.contains("key"); }));
  EXPECT(refused([&] { (void)info.erase("key"); }));
  EXPECT(refused([&] { (void)info.size(); }));
  EXPECT(refused([&] { (void)info.keys(); }));
  EXPECT(refused([&] { (void)*info.begin(); }));
  EXPECT(refused([&] { (void)info.duplicate(); }));
  EXPECT(refused([&] { (void)world.info(); }));
  EXPECT(refused([&] { world.set_info(info); }));
  EXPECT(info.get("key") == "value" && world.name() != "refused");
  // What is under way, and plans: a call that was refused has changed nothing.
  int in = -1;
  int planned = -1;
  auto receive = world.irecv(in, world.rank(), 5);
  auto owning = world.irecv<int>(world.rank(), 6);
  EXPECT(refused([&] { receive.wait(); }));
  EXPECT(refused([&] { (void)receive.test(); }));
  EXPECT(refused([&] { (void)receive.get_status(); }));
  EXPECT(refused([&] { receive.cancel(); }));
  EXPECT(name_of([&] { (void)owning.get(); }) == "get");
  std::vector<PersistentRequest> plans;
  plans.push_back(world.recv_init(planned, world.rank(), 7));
  EXPECT(refused([&] { (void)world.send_init(in, world.rank(), 7); }));
  EXPECT(refused([&] { plans[0].start(); }));
  EXPECT(name_of([&] { start_all(plans); }) == "start_all");
  plans[0].start();
  EXPECT(refused([&] { plans[0].wait(); }));
  EXPECT(refused([&] { (void)plans[0].test(); }));
  EXPECT(refused([&] { plans[0].cancel(); }));
  EXPECT(name_of([&] { wait_all(plans); }) == "wait_all");
  EXPECT(name_of([&] { (void)wait_any(plans); }) == "wait_any");
  EXPECT(name_of([&] { (void)test_some(plans); }) == "test_some");
  std::vector<Request> several;
  several.push_back(std::move(receive));
  EXPECT(name_of([&] { wait_all(several); }) == "wait_all");
  EXPECT(name_of([&] { (void)test_any(several); }) == "test_any");
  RequestSet set;
  set.add(std::move(several[0]));
  EXPECT(name_of([&] { (void)set.test_all(); }) == "test_all");
  EXPECT(name_of([&] { (void)set.wait_some(); }) == "wait_some");
  auto sent = world.isend(8, world.rank(), 8);
  EXPECT(refused([&] { (void)world.mprobe(world.rank(), 8); }));
  auto message = world.mprobe(world.rank(), 8);
  int matched = -1;
  EXPECT(refused([&] { message.recv(matched); }));
  EXPECT(refused([&] { (void)message.irecv(matched); }));
  message.recv(matched);
  for (int tag = 5; tag <= 7; ++tag) world.send(tag, world.rank(), tag);
  set.wait_all();
  wait_all(plans);
  EXPECT(in == 5 && owning.get() == 6 && planned == 7 && matched == 8 && sent.get() == 8);
  world.barrier();
  std::puts("done");
}

void serialized_by_two_threads() {
  seen.granted = MPI_THREAD_SERIALIZED;
  const auto mpi = Mpi::init_thread(ThreadLevel::Serialized);
  const auto world = mpi.world();
  EXPECT(mpi.thread_level() == ThreadLevel::Serialized);
  std::thread([&] { world.barrier(); }).join();  // one after the other is what this level allows
  // A callable runs while its thread is inside MPI: a good moment for another thread to try.
  std::string text;
  std::string name;
  const auto add = [&](int a, int b) {
    if (text.empty()) text = on_another_thread([&] { (void)world.iprobe(any_source, any_tag); });
    if (name.empty()) name = on_another_thread([&] { (void)world.name(); });
    EXPECT(Info().empty());  // the thread that is inside may look further
    return a + b;
  };
  std::vector<int> data(2, 1);
  world.scan_inplace(data, add);
  EXPECT(data[0] == world.rank() + 1);
  if (world.rank() == world.size() - 1 && world.size() > 1) {
    EXPECT(text.find("two threads are inside MPI at once") != std::string::npos);
    EXPECT(name.find("two threads are inside MPI at once") != std::string::npos);
  }
  // A window makes hints of its own while it is inside; after it nobody is.
  const auto node = world.split_shared();
  { const auto window = SharedWindow<int>::allocate(node, 1, WindowLayout::Separate); }
  EXPECT(on_another_thread([&] { (void)world.name(); }) == "nothing was thrown");
  std::puts("done");
}

const std::map<std::string, void (*)()> scenes = {
    {"exception_passes_through", exception_passes_through},
    {"exception_is_not_caught", exception_is_not_caught},
    {"request_cannot_finish", request_cannot_finish},
    {"plan_cannot_finish", plan_cannot_finish},
    {"exception_alone", exception_alone},
    {"abort_ends_all", abort_ends_all},
    {"after_finalize", after_finalize},
    {"finalize_with_requests_under_way", finalize_with_requests_under_way},
    {"adopt_a_running_mpi", adopt_a_running_mpi},
    {"moved_environment", moved_environment},
    {"actions_at_finalize", actions_at_finalize},
    {"mpi_does_not_start", mpi_does_not_start},
    {"too_low_a_thread_level", too_low_a_thread_level},
    {"funneled_from_another_thread", funneled_from_another_thread},
    {"serialized_by_two_threads", serialized_by_two_threads},
};

}  // namespace

FERROMPI_DATATYPE(Point, x, y);

extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return seen.init_code != MPI_SUCCESS ? seen.init_code : PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Query_thread(int* level) {
  const int code = PMPI_Query_thread(level);
  if (seen.granted) *level = *seen.granted;
  return code;
}

// Types are freed once for each time that they were made, whichever of these made them.
int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* offsets, const MPI_Datatype* types,
                           MPI_Datatype* made) {
  ++seen.types_made;
  return PMPI_Type_create_struct(count, lengths, offsets, types, made);
}

int MPI_Type_create_resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* made) {
  ++seen.types_made;
  return PMPI_Type_create_resized(type, lower, extent, made);
}

int MPI_Type_dup(MPI_Datatype type, MPI_Datatype* made) {
  ++seen.types_made;
  return PMPI_Type_dup(type, made);
}

int MPI_Type_free(MPI_Datatype* type) {
  ++seen.types_freed;
  return PMPI_Type_free(type);
}

int MPI_Request_free(MPI_Request* request) {
  if (seen.all_is_in_progress) std::fprintf(stderr, "a request is freed that is in progress\n");
  return PMPI_Request_free(request);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  ++seen.duplicates;
  return PMPI_Comm_dup(comm, made);
}

int MPI_Comm_free(MPI_Comm* comm) {
  --seen.duplicates;
  return PMPI_Comm_free(comm);
}
}

int main(int argc, char** argv) {
  if (argc != 2 || !scenes.contains(argv[1])) return 64;
  scenes.at(argv[1])();
}
