// Settings that Python passes by name, so that the order of fields has no meaning on either side.
#pragma once
#include <map>
#include <stdexcept>
#include <string>

#include "arrays.hpp"

namespace hopbytes {

// The values of a Python dictionary from names to integers.
class NamedSettings {
 public:
  NamedSettings() = default;
  explicit NamedSettings(std::map<std::string, int64_t> values) : values_(std::move(values)) {}

  int64_t take(const char* name) {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument(std::string("the setting is missing: ") + name);
    const int64_t value = found->second;
    values_.erase(found);
    return value;
  }

  template <class T> void read(const char* name, T& setting) { setting = static_cast<T>(take(name)); }
  int32_t threads() { return static_cast<int32_t>(take("threads")); }

  // To be called when everything was read: a name that nothing reads is a mistake of the caller.
  void expect_all_read() const {
    if (!values_.empty()) throw std::invalid_argument("unknown setting: " + values_.begin()->first);
  }

 private:
  std::map<std::string, int64_t> values_;
};

}  // namespace hopbytes

// Integers of Python and of NumPy, but never a float.
template <> struct nanobind::detail::type_caster<hopbytes::NamedSettings> {
  NB_TYPE_CASTER(hopbytes::NamedSettings, const_name("dict"))
  bool from_python(handle given, uint32_t, cleanup_list*) noexcept {
    try {
      std::map<std::string, int64_t> values;
      for (const auto& [name, number] : nanobind::cast<dict>(given)) {
        const object integer = steal(PyNumber_Index(number.ptr()));
        if (!integer.is_valid()) raise_python_error();
        values.emplace(nanobind::cast<const char*>(name), nanobind::cast<int64_t>(integer));
      }
      value = hopbytes::NamedSettings(std::move(values));
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
};
