// Binds parse_metis.hpp and parse_table.hpp.
#include "arrays.hpp"
#include "io/parse_metis.hpp"
#include "io/parse_table.hpp"
#include "released_lock.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;
using Release = nb::call_guard<ReleasedLock>;

namespace {

void check_state(const OutArray<int64_t>& state) {
  if (state.size() != kSlots) throw nb::value_error("parser state of the wrong length");
}

template <class Value>
void bind_table(nb::module_& m, const char* name) {
  m.def(
      name,
      [](InArray<uint8_t> text, bool final, OutArray<int64_t> state, OutArray<Value> values) {
        check_state(state);
        return parse_table<Value>(in(text), final, out(state), out(values));
      },
      "text"_a.noconvert(), "final"_a, "state"_a.noconvert(), "values"_a.noconvert(), Release());
}

}  // namespace

void bind_parse(nb::module_& m) {
  m.def(
      "parse_metis",
      [](InArray<uint8_t> text, bool final, OutArray<int64_t> state, OutArray<int64_t> indptr,
         OutArray<int32_t> targets, OutArray<int64_t> weights, OutArray<int64_t> loads) {
        check_state(state);
        // Weights are stored beside targets, so both arrays need the same length.
        if (out(state)[kEdgeWeights] && weights.size() != targets.size())
          throw nb::value_error("weights and targets of unequal length");
        return parse_metis(in(text), final, out(state),
                           {out(indptr), out(targets), out(weights), out(loads)});
      },
      "text"_a.noconvert(), "final"_a, "state"_a.noconvert(), "indptr"_a.noconvert(), "targets"_a.noconvert(),
      "weights"_a.noconvert(), "loads"_a.noconvert(), Release());
  bind_table<int64_t>(m, "parse_table");
  bind_table<double>(m, "parse_real_table");
}
