// Settings that Python passes by name, so that the order of fields has no meaning on either side.
#pragma once
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "arrays.hpp"

namespace hopbytes {

// The values of a Python dictionary from names to integers. To be built while the interpreter's lock is held.
class NamedSettings {
 public:
  explicit NamedSettings(const nb::dict& given) {
    for (const auto& [name, value] : given) {
      // Also of NumPy, but never of a float.
      const nb::object integer = nb::steal(PyNumber_Index(value.ptr()));
      if (!integer.is_valid()) nb::raise_python_error();
      values_.emplace(nb::cast<const char*>(name), nb::cast<int64_t>(integer));
    }
  }

  int64_t take(const char* name) {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument(std::string("the setting is missing: ") + name);
    const int64_t value = found->second;
    values_.erase(found);
    return value;
  }

  template <class T> void read(const char* name, T& setting) { setting = static_cast<T>(take(name)); }

  // To be called when everything was read: a name that nothing reads is a mistake of the caller.
  void expect_all_read() const {
    if (!values_.empty()) throw std::invalid_argument("unknown setting: " + values_.begin()->first);
  }

 private:
  std::map<std::string, int64_t> values_;
};

}  // namespace hopbytes
