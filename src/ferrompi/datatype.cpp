#include <ferrompi/datatype.hpp>

#include <ferrompi/detail/reduction.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>

#include <climits>
#include <vector>

namespace ferrompi::detail {

namespace {

constexpr const char* operation = "datatype_of";

// Frees a type that is needed only while another is made from it.
class TemporaryType {
 public:
  explicit TemporaryType(MPI_Datatype type) : type_(type) {}
  ~TemporaryType() { MPI_Type_free(&type_); }
  TemporaryType(const TemporaryType&) = delete;
  TemporaryType& operator=(const TemporaryType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

MPI_Datatype commit(MPI_Datatype type) {
  check(MPI_Type_commit(&type), operation);
  return type;
}

}  // namespace

MPI_Datatype make_struct_type(std::span<const Field> fields, std::size_t extent) {
  attach(operation);
  std::vector<int> lengths;
  std::vector<MPI_Aint> offsets;
  std::vector<MPI_Datatype> types;
  for (const auto& field : fields) {
    if (field.count > INT_MAX) {
      throw NotSupported(operation, "a member of more than 2147483647 elements cannot be described to MPI");
    }
    lengths.push_back(static_cast<int>(field.count));
    offsets.push_back(static_cast<MPI_Aint>(field.offset));
    types.push_back(field.type);
  }
  MPI_Datatype packed = MPI_DATATYPE_NULL;
  check(MPI_Type_create_struct(static_cast<int>(fields.size()), lengths.data(), offsets.data(), types.data(), &packed),
        operation);
  const TemporaryType temporary(packed);
  // The next element of an array starts sizeof(T) further on, padding included.
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  check(MPI_Type_create_resized(packed, 0, static_cast<MPI_Aint>(extent), &resized), operation);
  commit(resized);
  run_at_finalize([resized]() mutable { MPI_Type_free(&resized); });
  return resized;
}

MPI_Datatype make_contiguous_type(MPI_Datatype element, std::size_t count) {
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  if (count <= INT_MAX) {
    check(MPI_Type_contiguous(static_cast<int>(count), element, &whole), operation);
    return commit(whole);
  }
  // Pieces that an int counts, and what is left over behind them.
  constexpr std::size_t piece_length = std::size_t{1} << 30;
  MPI_Datatype piece_type = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(static_cast<int>(piece_length), element, &piece_type), operation);
  const TemporaryType piece(piece_type);
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check(MPI_Type_get_extent(element, &lower, &extent), operation);
  const auto pieces = count / piece_length;
  const int lengths[] = {static_cast<int>(pieces), static_cast<int>(count % piece_length)};
  const MPI_Aint offsets[] = {0, static_cast<MPI_Aint>(pieces * piece_length) * extent};
  const MPI_Datatype types[] = {piece.get(), element};
  check(MPI_Type_create_struct(2, lengths, offsets, types, &whole), operation);
  return commit(whole);
}

}  // namespace ferrompi::detail
