// The type of arrays that Python passes: one-dimensional, contiguous, never converted (results written into a
// converted copy would be lost).
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>

namespace nb = nanobind;

template <class T> using InArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using OutArray = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T> std::span<const T> in(const InArray<T>& a) { return {a.data(), a.size()}; }
template <class T> std::span<T> out(const OutArray<T>& a) { return {a.data(), a.size()}; }

// Each bind_* registers the kernels of the source file of the same name.
void bind_control(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_repair(nb::module_& m);
void bind_parse(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_parallel(nb::module_& m);
void bind_slots(nb::module_& m);
void bind_slot_groups(nb::module_& m);
void bind_routes(nb::module_& m);
void bind_flows(nb::module_& m);
void bind_tabu(nb::module_& m);
void bind_places(nb::module_& m);
void bind_routed(nb::module_& m);
void bind_group(nb::module_& m);
void bind_leaders(nb::module_& m);
void bind_stream(nb::module_& m);
void bind_changing(nb::module_& m);
