// Reads arrays of Python, the same for all functions of the bindings.
#include "arrays.hpp"

#include <nanobind/ndarray.h>

template <class T> bool read_array(nb::handle given, Array<T>& array) noexcept {
  nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu> view;
  if (!nb::try_cast(given, view, false)) return false;
  array = {view.data(), view.size()};
  return true;
}

template bool read_array(nb::handle, InArray<uint8_t>&) noexcept;
template bool read_array(nb::handle, InArray<uint16_t>&) noexcept;
template bool read_array(nb::handle, InArray<int32_t>&) noexcept;
template bool read_array(nb::handle, InArray<int64_t>&) noexcept;
template bool read_array(nb::handle, InArray<uint64_t>&) noexcept;
template bool read_array(nb::handle, InArray<double>&) noexcept;
template bool read_array(nb::handle, OutArray<uint8_t>&) noexcept;
template bool read_array(nb::handle, OutArray<uint16_t>&) noexcept;
template bool read_array(nb::handle, OutArray<int32_t>&) noexcept;
template bool read_array(nb::handle, OutArray<int64_t>&) noexcept;
template bool read_array(nb::handle, OutArray<uint64_t>&) noexcept;
template bool read_array(nb::handle, OutArray<double>&) noexcept;
