// Large arrays of zeros, of which few parts are used.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hopbytes {

// An array of zeros. The system provides its pages when they are written, so where each of many threads uses
// a part of an array of its own, all of them together take not much more memory than one array.
template <class T> class ZeroedArray {
 public:
  ZeroedArray() = default;
  explicit ZeroedArray(int64_t size) : data_(allocate(size), Release{bytes(size)}) {}
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
#if defined(__linux__)
  // calloc would write zeros into memory that was in use before, which is faster where there is little of it.
  static constexpr int64_t fewest_bytes_to_map = 1 << 20;
  static bool is_mapped(int64_t bytes) { return bytes >= fewest_bytes_to_map; }
#else
  static bool is_mapped(int64_t) { return false; }
#endif
  static int64_t bytes(int64_t size) { return std::max<int64_t>(1, size) * static_cast<int64_t>(sizeof(T)); }
  static T* allocate(int64_t size) {
    void* array = nullptr;
#if defined(__linux__)
    if (is_mapped(bytes(size))) {
      array = mmap(nullptr, bytes(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (array == MAP_FAILED) throw std::bad_alloc();
      return static_cast<T*>(array);
    }
#endif
    array = std::calloc(bytes(size), 1);
    if (!array) throw std::bad_alloc();
    return static_cast<T*>(array);
  }
  struct Release {
    int64_t bytes = 0;
    void operator()(T* array) const {
#if defined(__linux__)
      if (is_mapped(bytes)) {
        munmap(array, bytes);
        return;
      }
#endif
      std::free(array);
    }
  };
  std::unique_ptr<T[], Release> data_;
};

// A number for each of many vertices, -1 for those without one, of which few have one.
class SparseNumbers {
 public:
  static constexpr int32_t unset = -1;
  class Place {
   public:
    explicit Place(int32_t& plus_one) : plus_one_(plus_one) {}
    operator int32_t() const { return plus_one_ - 1; }
    void operator=(int32_t number) { plus_one_ = number + 1; }

   private:
    int32_t& plus_one_;
  };

  // For loops that write other arrays, too.
  class Reader {
   public:
    explicit Reader(const int32_t* plus_one) : plus_one_(plus_one) {}
    int32_t operator[](int64_t i) const { return plus_one_[i] - 1; }

   private:
    const int32_t* plus_one_;
  };

  SparseNumbers() = default;
  explicit SparseNumbers(int64_t size) : plus_one_(size), size_(size) {}
  int64_t size() const { return size_; }
  Reader reader() const { return Reader(plus_one_.data()); }
  Place operator[](int64_t i) { return Place(plus_one_[i]); }
  int32_t operator[](int64_t i) const { return plus_one_[i] - 1; }

 private:
  ZeroedArray<int32_t> plus_one_;
  int64_t size_ = 0;
};

}  // namespace hopbytes
