// What happens to a window that MPI makes and then fails at: it is freed, on all ranks, and each of them hears of it.
// The faults are planted below the library, in the place of MPI's own functions.
#include "ferrompi/ranks.hpp"

#include <optional>
#include <string>

using namespace ferrompi;

namespace {

// What goes wrong on this rank, and what was seen of windows.
struct {
  bool null_base = false;
  bool no_error_handler = false;
  bool no_window = false;
  bool no_model = false;
  bool no_copy_of_hints = false;
  int freed = 0;
  MPI_Win made = MPI_WIN_NULL;
  std::optional<std::string> hint;  // what MPI was told about "alloc_shared_noncontig"
} planted;

class WindowFaults : public Ranks {
 protected:
  const int culprit = size - 1;
  const bool guilty = rank == culprit;

  void SetUp() override { planted = {}; }
  void TearDown() override { planted = {}; }

  // Every rank must throw `error_class`; all but the culprit say who it was.
  void expect_refused(ErrorClass error_class, const Info& info = Info::null(),
                      WindowLayout layout = WindowLayout::Contiguous) {
    const auto error = error_of<MpiError>([&] { (void)SharedWindow<double>::allocate(world, 100, info, layout); });
    EXPECT_EQ(error.error_class(), error_class) << error.what();
    if (!guilty) {
      EXPECT_NE(std::string(error.what()).find("rank " + std::to_string(culprit) + " could not"), std::string::npos)
          << error.what();
    }
  }

  // Proof that the ranks still agree on what comes next.
  void expect_usable() {
    const auto before = planted.freed;
    {
      planted = {};
      planted.freed = before;
      auto window = SharedWindow<double>::allocate(world, 100);
      window.fence();
    }
    EXPECT_EQ(planted.freed, before + 1);
  }
};

}  // namespace

extern "C" {

int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint* size, int* unit, void* base) {
  const int code = PMPI_Win_shared_query(win, rank, size, unit, base);
  if (planted.null_base) {
    *size = 800;
    *static_cast<void**>(base) = nullptr;
  }
  return code;
}

int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler) {
  return planted.no_error_handler ? MPI_ERR_OTHER : PMPI_Win_set_errhandler(win, handler);
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win) {
  const int code = PMPI_Win_allocate_shared(size, unit, info, comm, base, win);
  planted.made = *win;
  MPI_Info copy = MPI_INFO_NULL;
  if (info != MPI_INFO_NULL && PMPI_Info_dup(info, &copy) == MPI_SUCCESS) {
    planted.hint = Info::adopt(copy).get("alloc_shared_noncontig");
  }
  return planted.no_window ? MPI_ERR_NO_SPACE : code;
}

int MPI_Win_get_attr(MPI_Win win, int key, void* value, int* found) {
  const int code = PMPI_Win_get_attr(win, key, value, found);
  if (planted.no_model) *found = 0;
  return code;
}

int MPI_Win_free(MPI_Win* win) {
  ++planted.freed;
  return PMPI_Win_free(win);
}

int MPI_Info_dup(MPI_Info info, MPI_Info* copy) {
  return planted.no_copy_of_hints ? MPI_ERR_INFO : PMPI_Info_dup(info, copy);
}
}

TEST_F(WindowFaults, ANullBaseWithALengthFreesTheWindowOnAllRanks) {
  planted.null_base = guilty;
  expect_refused(ErrorClass::Base);
  EXPECT_EQ(planted.freed, 1);
  expect_usable();
}

TEST_F(WindowFaults, AWindowThatCannotReturnErrorsIsFreedOnAllRanks) {
  planted.no_error_handler = guilty;
  expect_refused(ErrorClass::Other);
  EXPECT_EQ(planted.freed, 1);
  expect_usable();
}

TEST_F(WindowFaults, AWindowOfSeparateCopiesIsFreedOnAllRanks) {
  planted.no_model = true;
  EXPECT_THROW((void)SharedWindow<double>::allocate(world, 100), NotSupported);
  EXPECT_EQ(planted.freed, 1);
  expect_usable();
}

TEST_F(WindowFaults, AWindowThatOneRankLacksIsFreedByNobody) {
  planted.no_window = guilty;
  expect_refused(ErrorClass::NoSpace);
  EXPECT_EQ(planted.freed, 0) << "freeing takes all ranks";
  EXPECT_EQ(PMPI_Win_free(&planted.made), MPI_SUCCESS);
  expect_usable();
}

TEST_F(WindowFaults, HintsReachMpiWithWhatTheLayoutSays) {
  const auto hint_of = [&](const Info& info, WindowLayout layout) {
    planted.hint.reset();
    auto window = SharedWindow<double>::allocate(world, 8, info, layout);
    EXPECT_EQ(window.remote(size - 1).size(), 8U);
    return planted.hint;
  };
  const Info apart{{"alloc_shared_noncontig", "true"}};
  EXPECT_EQ(hint_of(apart, WindowLayout::Contiguous), "true");
  EXPECT_EQ(hint_of(apart, WindowLayout::Separate), "true");
  EXPECT_EQ(hint_of(Info{{"no_locks", "false"}}, WindowLayout::Separate), "true");
  EXPECT_EQ(hint_of(Info{{"no_locks", "false"}}, WindowLayout::Contiguous), std::nullopt);
}

TEST_F(WindowFaults, HintsThatOneRankCannotCopyLeaveNobodyWaiting) {
  planted.no_copy_of_hints = guilty;
  expect_refused(ErrorClass::Info, Info{{"no_locks", "false"}}, WindowLayout::Separate);
  EXPECT_EQ(planted.made, MPI_Win{MPI_WIN_NULL}) << "the ranks agreed before any of them called MPI";
  expect_usable();
}
