// Reads arrays of Python, the same for all functions of the bindings.
#include "arrays.hpp"

#include <nanobind/ndarray.h>

template <class T> bool read_array(nb::handle given, std::span<T>& array) noexcept {
  array = {};
  if (given.is_none()) return true;
  nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu> view;
  if (!nb::try_cast(given, view, false)) return false;
  array = {view.data(), view.size()};
  return true;
}

#define HOPBYTES_READ(T)                                              \
  template bool read_array(nb::handle, std::span<const T>&) noexcept; \
  template bool read_array(nb::handle, std::span<T>&) noexcept;
HOPBYTES_READ(uint8_t)
HOPBYTES_READ(uint16_t)
HOPBYTES_READ(int32_t)
HOPBYTES_READ(int64_t)
HOPBYTES_READ(uint64_t)
HOPBYTES_READ(double)
