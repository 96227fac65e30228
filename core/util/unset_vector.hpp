// Vectors whose elements have no value until one is written.
#pragma once
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace hopbytes {

template <class T> struct UnsetElements : std::allocator<T> {
  template <class U> struct rebind {
    using other = UnsetElements<U>;
  };
  template <class U> void construct(U* element) noexcept { ::new (static_cast<void*>(element)) U; }
  template <class U, class... From> void construct(U* element, From&&... from) {
    ::new (static_cast<void*>(element)) U(std::forward<From>(from)...);
  }
};

// For arrays that a pass over ranges writes first: they are not filled before it, and the threads of the pass
// share the time in which the system provides their pages. Pages that are never written never become
// resident, so arrays may have the size of an upper bound.
template <class T> using UnsetVector = std::vector<T, UnsetElements<T>>;

}  // namespace hopbytes
