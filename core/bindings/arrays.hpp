// How arguments of Python become those of kernels: arrays as spans, tuples as records, and no names.
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <thread>
#include <tuple>

#include "graph/csr.hpp"
#include "util/team.hpp"

namespace nb = nanobind;

// Returns whether `given` is a one-dimensional, contiguous array with elements of type T, which may be
// written unless T is const. It is never converted: results written into a converted copy would be lost.
// None stands for an empty array; only members of records may be None. Python owns the elements, which are
// valid during the call that the array is passed to.
template <class T> bool read_array(nb::handle given, std::span<T>& array) noexcept;

namespace nanobind::detail {

template <class T> struct type_caster<std::span<T>> {
  NB_TYPE_CASTER(std::span<T>, const_name("array"))
  bool from_python(handle given, uint32_t, cleanup_list*) noexcept { return read_array(given, value); }
};

// A record is a struct for which fields(record) ties its members in the order of Python's tuple.
template <class R>
  requires requires(R& record) { fields(record); }
struct type_caster<R> {
  NB_TYPE_CASTER(R, const_name("record"))
  bool from_python(handle given, uint32_t flags, cleanup_list* cleanup) noexcept {
    return std::apply(
        [&](auto&... to) {
          PyObject* copy = nullptr;
          PyObject** item = NB_CALL(seq_get_with_size)(given.ptr(), sizeof...(to), &copy);
          const object held = steal(copy);
          bool fits = item != nullptr;
          size_t next = 0;
          (..., (fits = fits && read(to, item[next], flags, cleanup), ++next));
          return fits;
        },
        fields(value));
  }

 private:
  template <class T> static bool read(T& to, handle item, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<T> caster;
    if (!caster.from_python(item, flags_for_local_caster<T>(flags), cleanup)) return false;
    to = caster.operator cast_t<T>();
    return true;
  }
};

// The threads of a call, for a number of Python.
template <> struct type_caster<hopbytes::Team> {
  static constexpr auto Name = const_name("int");
  template <class T> using Cast = hopbytes::Team&;
  template <class T> static constexpr bool can_cast() { return true; }
  bool from_python(handle given, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int32_t> number;
    const bool fits = number.from_python(given, flags, cleanup);
    if (fits) threads_ = number.value;
    return fits;
  }
  operator hopbytes::Team&() { return team_.emplace(threads_); }

 private:
  int32_t threads_ = 1;
  std::optional<hopbytes::TeamOfCall> team_;
};

}  // namespace nanobind::detail

namespace hopbytes {

inline auto fields(Csr& r) { return std::tie(r.indptr, r.target, r.weight); }

// The interpreter's lock, released for the time of a computation: other threads of Python run until the end
// of its scope. When the interpreter has ended by then, as where the program ends while a daemon thread
// computes, Python up to 3.13 ends the thread by unwinding its stack, which no destructor may let out: the
// process would abort. The thread sleeps instead until the process has ended, as it does with Python 3.14.
class ReleasedLock {
 public:
  ReleasedLock() : state_(PyEval_SaveThread()) {}
  ReleasedLock(const ReleasedLock&) = delete;
  ReleasedLock& operator=(const ReleasedLock&) = delete;
  ~ReleasedLock() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }

 private:
  PyThreadState* const state_;
};

// Registers a kernel, which Python calls by position, and which runs without the interpreter's lock.
template <class Kernel> void define(nb::module_& m, const char* name, Kernel kernel) {
  m.def(name, kernel, nb::call_guard<ReleasedLock>());
}

}  // namespace hopbytes
