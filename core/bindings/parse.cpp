// Binds parse_metis.hpp and parse_table.hpp.
#include "arrays.hpp"
#include "checked.hpp"
#include "io/parse_metis.hpp"
#include "io/parse_table.hpp"

using namespace hopbytes;

namespace {

// Throws unless a parser may go on in arrays that hold so many numbers and rows.
void expect_state(Out<int64_t> state, size_t numbers, size_t rows) {
  expect(state.size() == kSlots, "entries of a parser's state");
  expect(state[kArcs] >= 0 && state[kArcs] <= static_cast<int64_t>(numbers) && state[kRow] >= 0 &&
             state[kRow] <= static_cast<int64_t>(rows),
         "a parser's state and arrays");
}

template <class Value>
int64_t parse_numbers(In<uint8_t> text, bool final, Out<int64_t> state, Out<Value> values) {
  expect_state(state, values.size(), 0);
  return parse_table<Value>(text, final, state, values);
}

}  // namespace

void bind_parse(nb::module_& m) {
  define(m, "parse_metis",
         [](In<uint8_t> text, bool final, Out<int64_t> state, Out<int64_t> indptr, Out<int32_t> targets,
            Out<int64_t> weights, Out<int64_t> loads) {
           expect_state(state, targets.size(), indptr.size());
           // Weights are stored beside targets, so both arrays need the same length.
           expect(!state[kEdgeWeights] || weights.size() == targets.size(), "weights and targets");
           return parse_metis(text, final, state, {indptr, targets, weights, loads});
         });
  define(m, "parse_table", parse_numbers<int64_t>);
  define(m, "parse_real_table", parse_numbers<double>);
}
