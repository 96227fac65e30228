// Binds the kernels of mappings on a graphics processor, as loops on the CPU and as the text for a GPU.
#include "device/kernels.hpp"

#include <string_view>

#include "arrays.hpp"
#include "graph/checked.hpp"

using namespace hopbytes;

namespace hopbytes {
const char* device_source();
}

namespace {

using Items = device::Items;
using Loop = std::function<void(const Items&)>;
constexpr int64_t items_per_range = 1 << 12;

// Reads an argument of a kernel: an array of exactly this type, None for a null pointer, or a number.
template <class A> A argument(nb::handle given) {
  if constexpr (std::is_pointer_v<A>) {
    std::span<std::remove_pointer_t<A>> array;
    expect(read_array(given, array), "a kernel and the types of its arguments");
    return array.data();
  } else {
    return nb::cast<A>(given);
  }
}

template <class... A> Loop bound(void (*kernel)(Items, A...), const nb::tuple& given) {
  expect(given.size() == sizeof...(A), "a kernel and its arguments");
  size_t next = 0;
  return [kernel, values = std::tuple<A...>{argument<A>(given[next++])...}](const Items& items) {
    std::apply([&](const A&... value) { kernel(items, value...); }, values);
  };
}

Loop kernel_of(std::string_view name, const nb::tuple& given) {
#define HOPBYTES_KERNEL(kernel) \
  if (name == #kernel) return bound(device::kernel, given)
  HOPBYTES_KERNEL(check_rows);
  HOPBYTES_KERNEL(count_unpaired);
  HOPBYTES_KERNEL(prefer);
  HOPBYTES_KERNEL(ask_to_join);
  HOPBYTES_KERNEL(join);
  HOPBYTES_KERNEL(make_joins);
  HOPBYTES_KERNEL(find_heaviest);
  HOPBYTES_KERNEL(count_members);
  HOPBYTES_KERNEL(place_members);
  HOPBYTES_KERNEL(merge_rows);
  HOPBYTES_KERNEL(copy_rows);
  HOPBYTES_KERNEL(choose);
  HOPBYTES_KERNEL(choose_to_leave);
  HOPBYTES_KERNEL(confirm);
  HOPBYTES_KERNEL(ask);
  HOPBYTES_KERNEL(limit_of_group);
  HOPBYTES_KERNEL(give_up);
  HOPBYTES_KERNEL(change);
  HOPBYTES_KERNEL(make_moves);
  HOPBYTES_KERNEL(judge);
  HOPBYTES_KERNEL(sum_overload);
  HOPBYTES_KERNEL(sum_loads);
  HOPBYTES_KERNEL(cost_of_rows);
#undef HOPBYTES_KERNEL
  throw std::invalid_argument("a kernel of this name does not exist");
}

}  // namespace

void bind_device(nb::module_& m) {
  m.def("device_source", [] { return device_source(); });
  // `order` is empty, or a permutation of the items.
  m.def("run_kernel",
        [](const char* name, int64_t items, const nb::tuple& given, In<int64_t> order, int32_t threads) {
          const Loop loop = kernel_of(name, given);
          expect(order.empty() || std::ssize(order) == items, "items and their order");
          expect_below(order, items, "items");
          const ReleasedLock released;
          const TeamOfCall team(threads);
          parallel_ranges(items, items_per_range, team, [&](int32_t, int64_t begin, int64_t end) {
            loop({begin, end, order.empty() ? nullptr : order.data()});
          });
        });
}
