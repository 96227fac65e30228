// The type of arrays that Python passes: one-dimensional, contiguous, never converted (results written into a
// converted copy would be lost).
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace nb = nanobind;

// The elements of an array of Python, which owns them: valid during the call that the array is passed to. It
// is trivial to copy and to destroy, because functions of the bindings take up to 28 arrays: with nb::ndarray
// their conversion and clean-up were 12 % of the compiled module.
template <class T> class Array {
 public:
  Array() = default;
  Array(T* data, size_t size) : data_(data), size_(size) {}
  T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T> using InArray = Array<const T>;
template <class T> using OutArray = Array<T>;

template <class T> std::span<const T> in(const InArray<T>& a) { return {a.data(), a.size()}; }
template <class T> std::span<T> out(const OutArray<T>& a) { return {a.data(), a.size()}; }

// Returns whether `given` is such an array with elements of type T, which may be written unless T is const.
template <class T> bool read_array(nb::handle given, Array<T>& array) noexcept;

template <class T> struct nanobind::detail::type_caster<Array<T>> {
  NB_TYPE_CASTER(Array<T>, const_name("array"))
  bool from_python(handle given, uint32_t, cleanup_list*) noexcept { return read_array(given, value); }
};

// Each bind_* registers the kernels of the source file of the same name.
void bind_control(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_repair(nb::module_& m);
void bind_parse(nb::module_& m);
void bind_deep(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_parallel(nb::module_& m);
void bind_fragments(nb::module_& m);
void bind_slots(nb::module_& m);
void bind_slot_groups(nb::module_& m);
void bind_routes(nb::module_& m);
void bind_flows(nb::module_& m);
void bind_waiting(nb::module_& m);
void bind_tabu(nb::module_& m);
void bind_places(nb::module_& m);
void bind_routed(nb::module_& m);
void bind_group(nb::module_& m);
void bind_leaders(nb::module_& m);
void bind_stream(nb::module_& m);
void bind_changing(nb::module_& m);
