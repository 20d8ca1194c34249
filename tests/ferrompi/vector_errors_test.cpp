// Counts and displacements that cannot be, and buffers that overlap, in every operation that looks for them.
#include "ferrompi/errors.hpp"

#include <functional>

using namespace ferrompi;

namespace {

using Integers = std::vector<int>;

class PartsInError : public Errors {
 protected:
  // One form of one operation, called with counts and displacements of one element a rank that a case has changed. This
  // rank takes itself for the root, who alone looks at them in some.
  struct Form {
    std::string name;
    std::function<void(const Integers& counts, const Integers& displs)> call;
    bool has_displs = true;
    bool writes = true;  // to the buffer that they divide
  };

  std::vector<Form> forms() {
    std::vector<Form> all;
    const auto op = ReduceOp::Sum;
#define ADD(name, has_displs, writes, ...)                                                           \
  all.push_back({#name,                                                                              \
                 [=, this]([[maybe_unused]] const Integers& c, [[maybe_unused]] const Integers& d) { \
                   (void)world.name(__VA_ARGS__);                                                    \
                 },                                                                                  \
                 has_displs, writes})
#define ADD_FORMS(name, has_displs, writes, ...) \
  ADD(name, has_displs, writes, __VA_ARGS__);    \
  ADD(i##name, has_displs, writes, __VA_ARGS__); \
  ADD(name##_init, has_displs, writes, __VA_ARGS__)
#define ADD_IN_PLACE(name, has_displs, writes, ...)        \
  ADD(name##_inplace, has_displs, writes, __VA_ARGS__);    \
  ADD(i##name##_inplace, has_displs, writes, __VA_ARGS__); \
  ADD(name##_init_inplace, has_displs, writes, __VA_ARGS__)
    ADD_FORMS(gatherv, true, true, one, many, c, d, rank);
    ADD_IN_PLACE(gatherv, true, true, many, c, d, rank);
    ADD_FORMS(scatterv, true, false, many, c, d, one, rank);
    ADD_IN_PLACE(scatterv, true, false, many, c, d, rank);
    ADD_FORMS(allgatherv, true, true, one, many, c, d);
    ADD_IN_PLACE(allgatherv, true, true, many, c, d);
    ADD_FORMS(alltoallv, true, true, odd, counts, displs, many, c, d);
    ADD_FORMS(alltoallv, true, false, many, c, d, odd, counts, displs);
    ADD_IN_PLACE(alltoallv, true, true, many, c, d);
    ADD_FORMS(reduce_scatter, false, false, many, one, c, op);
    ADD_IN_PLACE(reduce_scatter, false, false, many, c, op);
#undef ADD_IN_PLACE
#undef ADD_FORMS
#undef ADD
    return all;
  }

  static void expect_refused(const Form& form, const Integers& counts, const Integers& displs,
                             const std::string& part) {
    SCOPED_TRACE(form.name);
    expect_error<InvalidBuffer>(form.name.c_str(), part, [&] { form.call(counts, displs); });
  }

  const Integers counts = Integers(ranks, 1);
  const Integers displs = displacements(counts);
};

}  // namespace

TEST_F(PartsInError, NameACountTooManyOrTooFew) {
  for (const auto& form : forms()) {
    expect_refused(form, Integers(ranks + 1, 1), displs, "counts has " + std::to_string(size + 1) + " entries");
    expect_refused(form, {}, displs, "counts has 0 entries");
    if (form.has_displs) expect_refused(form, counts, Integers(ranks + 1, 0), "displs has");
  }
}

TEST_F(PartsInError, NameANegativeCountOrDisplacement) {
  auto negative = counts;
  negative[self] = -1;
  auto before = displs;
  before[self] = -2;
  for (const auto& form : forms()) {
    expect_refused(form, negative, displs, "the count for rank " + std::to_string(rank) + " is -1");
    if (form.has_displs) {
      expect_refused(form, counts, before, "the displacement for rank " + std::to_string(rank) + " is -2");
    }
  }
}

TEST_F(PartsInError, NameAPartThatLeavesTheBuffer) {
  auto longer = counts;
  longer.back() = 5;
  auto further = displs;
  further[self] = size;
  for (const auto& form : forms()) {
    expect_refused(form, longer, displs, form.has_displs ? "leaves the buffer of" : "exceed the");
    if (form.has_displs) expect_refused(form, counts, further, "the segment of rank " + std::to_string(rank));
  }
}

TEST_F(PartsInError, NameCountsThatDoNotFillTheBufferThatIsReduced) {
  auto shorter = counts;
  shorter.back() = 0;
  for (const auto& form : forms()) {
    if (!form.has_displs) expect_refused(form, shorter, displs, "add up to " + std::to_string(size - 1));
  }
}

TEST_F(PartsInError, NamePartsThatOverlapWhereTheyAreWritten) {
  if (size == 1) return;
  auto same = displs;
  same.back() = same.front();
  for (const auto& form : forms()) {
    if (form.writes) expect_refused(form, counts, same, "overlap: each rank's part must have a place of its own");
  }
}

TEST_F(PartsInError, NameABufferThatIsNotAsLongAsTheOwnCount) {
  std::vector<double> two(2);
#define OWN(name, ...)                                                                                 \
  expect_error<InvalidBuffer>(#name, "the count of this rank is 1, but its own buffer has 2 elements", \
                              [&] { (void)world.name(__VA_ARGS__); })
#define OWN_IN_EVERY_FORM(name, ...) \
  OWN(name, __VA_ARGS__);            \
  OWN(i##name, __VA_ARGS__);         \
  OWN(name##_init, __VA_ARGS__)
  OWN_IN_EVERY_FORM(gatherv, two, many, counts, displs, rank);
  OWN_IN_EVERY_FORM(scatterv, many, counts, displs, two, rank);
  OWN_IN_EVERY_FORM(allgatherv, two, many, counts, displs);
  OWN_IN_EVERY_FORM(reduce_scatter, many, two, counts, ReduceOp::Sum);
#undef OWN_IN_EVERY_FORM
#undef OWN
}

TEST_F(PartsInError, NameBuffersThatOverlap) {
  const auto op = ReduceOp::Sum;
  const std::span<double> last(&many.back(), 1);
#define OVERLAP(name, ...)                                                                  \
  expect_error<InvalidBuffer>(#name, "overlap: use the _inplace form, or separate buffers", \
                              [&] { (void)world.name(__VA_ARGS__); })
#define OVERLAP_IN_EVERY_FORM(name, ...) \
  OVERLAP(name, __VA_ARGS__);            \
  OVERLAP(i##name, __VA_ARGS__);         \
  OVERLAP(name##_init, __VA_ARGS__)
  OVERLAP_IN_EVERY_FORM(reduce, many, many, op, rank);
  OVERLAP_IN_EVERY_FORM(allreduce, many, many, op);
  OVERLAP_IN_EVERY_FORM(scan, many, many, op);
  OVERLAP_IN_EVERY_FORM(exscan, many, many, op);
  OVERLAP_IN_EVERY_FORM(reduce_scatter_block, many, last, op);
  OVERLAP_IN_EVERY_FORM(reduce_scatter, many, last, counts, op);
  OVERLAP_IN_EVERY_FORM(gather, last, many, rank);
  OVERLAP_IN_EVERY_FORM(allgather, last, many);
  OVERLAP_IN_EVERY_FORM(scatter, many, last, rank);
  OVERLAP_IN_EVERY_FORM(alltoall, many, many);
  OVERLAP_IN_EVERY_FORM(gatherv, last, many, counts, displs, rank);
  OVERLAP_IN_EVERY_FORM(scatterv, many, counts, displs, last, rank);
  OVERLAP_IN_EVERY_FORM(allgatherv, last, many, counts, displs);
  OVERLAP_IN_EVERY_FORM(alltoallv, many, counts, displs, many, counts, displs);
#undef OVERLAP_IN_EVERY_FORM
  OVERLAP(sendrecv, many, next, 0, last, previous, 0);
#undef OVERLAP
}
