// Blocking reductions by a callable with a capture. MPI gives a function no context but the datatype of the call, so
// plain C, too, makes a datatype that leads to one, and lends it to one call after the other.
#include "operations.hpp"

#include <atomic>
#include <type_traits>
#include <utility>

double value = 1.0;
double result = 0.0;
double scale = 0.5;
std::span<double> first_span = first;
std::span<double> second_span = second;

namespace {

constexpr int len = static_cast<int>(n);
std::array<int, probe::ranks> counts = {8, 8, 8, 8};

// What the datatype leads to, and its home while no call has it.
struct Context {
  MPI_Datatype type;
  MPI_Op op;
  double (*combine)(const void* capture, double a, double b);
  const void* capture;
  const char* failure;  // what the function has to say: it cannot return it through MPI
};
Context context;
std::atomic<Context*> spare;

struct Scaled {
  double by;
};
double scaled_sum(const void* capture, double a, double b) {
  return static_cast<const Scaled*>(capture)->by * (a + b);
}

// As many calls at once as there are threads: then each makes a datatype of its own. Never called here, but the
// compiler cannot know.
[[gnu::cold, gnu::noinline]] Context* own_context() {
  auto* const own = new Context(context);
  checked(MPI_Type_dup(MPI_DOUBLE, &own->type));
  checked(MPI_Type_set_attr(own->type, 0, own));
  return own;
}
[[noreturn, gnu::cold, gnu::noinline]] void fail_with(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

template <class Call>
[[gnu::always_inline]] inline void reduce_by(const Scaled& capture, Call call) {
  Context* lent = spare.exchange(nullptr, std::memory_order_acquire);
  if (lent == nullptr) [[unlikely]] {
    lent = own_context();
  }
  lent->combine = scaled_sum;
  lent->capture = &capture;
  checked(call(lent->type, lent->op));
  if (lent->failure != nullptr) [[unlikely]] {
    fail_with(lent->failure);
  }
  spare.store(lent, std::memory_order_release);
}

// The same in C++.
auto scaled() {
  return [by = scale](double a, double b) { return by * (a + b); };
}

const Operation operations[] = {
    {"allreduce by a callable",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Allreduce(first.data(), second.data(), len, type, op, c.comm);
       });
     },
     [](const Communicator& c) { c.allreduce(first, second, scaled()); }},
    {"allreduce_inplace by a callable",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Allreduce(MPI_IN_PLACE, first.data(), len, type, op, c.comm);
       });
     },
     [](const Communicator& c) { c.allreduce_inplace(first, scaled()); }},
    {"allreduce by a callable that commutes",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Allreduce(first.data(), second.data(), len, type, op, c.comm);
       });
     },
     [](const Communicator& c) { c.allreduce(first, second, ferrompi::commutative(scaled())); }},
    {"allreduce of a value by a callable",
     [](const Plain& c) {
       const Scaled by{scale};
       double sum;
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) { return MPI_Allreduce(&value, &sum, 1, type, op, c.comm); });
       result = sum;
     },
     [](const Communicator& c) { result = c.allreduce(value, scaled()); }},
    {"reduce by a callable",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Reduce(first.data(), second.data(), len, type, op, 1, c.comm);
       });
     },
     [](const Communicator& c) { c.reduce(first, second, scaled(), 1); }},
    {"reduce by a callable, at the root",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Reduce(first.data(), second.data(), len, type, op, 0, c.comm);
       });
     },
     [](const Communicator& c) { c.reduce(first, second, scaled(), 0); }},
    {"scan by a callable",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Scan(first.data(), second.data(), len, type, op, c.comm);
       });
     },
     [](const Communicator& c) { c.scan(first, second, scaled()); }},
    {"exscan by a callable",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Exscan(first.data(), second.data(), len, type, op, c.comm);
       });
     },
     [](const Communicator& c) { c.exscan(first, second, scaled()); }},
    {"reduce_scatter_block by a callable",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Reduce_scatter_block(many.data(), first.data(), len, type, op, c.comm);
       });
     },
     [](const Communicator& c) { c.reduce_scatter_block(many, first, scaled()); }},
    {"reduce_scatter by a callable",
     [](const Plain& c) {
       const Scaled by{scale};
       reduce_by(by, [&](MPI_Datatype type, MPI_Op op) {
         return MPI_Reduce_scatter(many.data(), first.data(), counts.data(), type, op, c.comm);
       });
     },
     [](const Communicator& c) { c.reduce_scatter(many, first, counts, scaled()); }, probe::Kind::Counts},
};

template <class Handle>
Handle some_handle() {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(&context);
  } else {
    return 1;
  }
}

}  // namespace

// What is made once, and what would be made for each call.
int MPI_Op_create(MPI_User_function*, int, MPI_Op* op) {
  *op = some_handle<MPI_Op>();
  return MPI_SUCCESS;
}
int MPI_Type_create_keyval(MPI_Type_copy_attr_function*, MPI_Type_delete_attr_function*, int* key, void*) {
  *key = 1;
  return MPI_SUCCESS;
}
int MPI_Type_dup(MPI_Datatype, MPI_Datatype* type) {
  ++probe::mpi_calls;
  *type = some_handle<MPI_Datatype>();
  return MPI_SUCCESS;
}
int MPI_Type_set_attr(MPI_Datatype, int, void*) {
  ++probe::mpi_calls;
  return MPI_SUCCESS;
}
int MPI_Type_free(MPI_Datatype*) {
  ++probe::mpi_calls;
  return MPI_SUCCESS;
}

int main() {
  context.type = some_handle<MPI_Datatype>();
  context.op = some_handle<MPI_Op>();
  spare = &context;
  return count_all(operations);
}
