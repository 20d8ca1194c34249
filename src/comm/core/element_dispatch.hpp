// From the tag of an element type back to the type.
#pragma once

#include <cobre/comm/base/element_type.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>

namespace cobre::comm::core {

/// Calls `f.template operator()<T>()` with the type behind a tag that a ReduceOp knows.
template <class F>
decltype(auto) with_element_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::Int8: return f.template operator()<std::int8_t>();
    case ElementType::Int16: return f.template operator()<std::int16_t>();
    case ElementType::Int32: return f.template operator()<std::int32_t>();
    case ElementType::Int64: return f.template operator()<std::int64_t>();
    case ElementType::UInt8: return f.template operator()<std::uint8_t>();
    case ElementType::UInt16: return f.template operator()<std::uint16_t>();
    case ElementType::UInt32: return f.template operator()<std::uint32_t>();
    case ElementType::UInt64: return f.template operator()<std::uint64_t>();
    case ElementType::Float: return f.template operator()<float>();
    case ElementType::Double: return f.template operator()<double>();
    case ElementType::LongDouble: return f.template operator()<long double>();
    case ElementType::Bool: return f.template operator()<bool>();
    case ElementType::ComplexFloat: return f.template operator()<std::complex<float>>();
    case ElementType::ComplexDouble: return f.template operator()<std::complex<double>>();
    case ElementType::ComplexLongDouble: return f.template operator()<std::complex<long double>>();
    case ElementType::Int8Index: return f.template operator()<ValueIndex<std::int8_t>>();
    case ElementType::Int16Index: return f.template operator()<ValueIndex<std::int16_t>>();
    case ElementType::Int32Index: return f.template operator()<ValueIndex<std::int32_t>>();
    case ElementType::Int64Index: return f.template operator()<ValueIndex<std::int64_t>>();
    case ElementType::UInt8Index: return f.template operator()<ValueIndex<std::uint8_t>>();
    case ElementType::UInt16Index: return f.template operator()<ValueIndex<std::uint16_t>>();
    case ElementType::UInt32Index: return f.template operator()<ValueIndex<std::uint32_t>>();
    case ElementType::UInt64Index: return f.template operator()<ValueIndex<std::uint64_t>>();
    case ElementType::FloatIndex: return f.template operator()<ValueIndex<float>>();
    case ElementType::DoubleIndex: return f.template operator()<ValueIndex<double>>();
    case ElementType::LongDoubleIndex: return f.template operator()<ValueIndex<long double>>();
    case ElementType::Byte:
    case ElementType::Opaque: break;
  }
  return f.template operator()<std::byte>();
}

}  // namespace cobre::comm::core
