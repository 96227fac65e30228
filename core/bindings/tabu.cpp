// Binds tabu.hpp.
#include "arrays.hpp"
#include "tabu.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

void bind_tabu(nb::module_& m) {
  m.def(
      "tabu_many",
      [](InArray<int64_t> flow, InArray<int64_t> distance, InArray<int64_t> linear_cost, bool symmetric,
         InArray<uint64_t> seed, InArray<int64_t> settings, int32_t threads, OutArray<int32_t> control,
         OutArray<int64_t> work, OutArray<int32_t> place, OutArray<int64_t> change, OutArray<int64_t> done) {
        const auto set = in(settings);
        DenseProblem problem;
        problem.n = seed.size() ? static_cast<int64_t>(place.size() / seed.size()) : 0;
        problem.symmetric = symmetric;
        problem.flow = in(flow), problem.distance = in(distance), problem.linear_cost = in(linear_cost);
        TabuOptions options;
        options.iterations = set[0];
        options.fruitless = set[1];
        options.fruitless_before_perturbation = set[2];
        options.least_perturbation = set[3];
        options.most_perturbation = set[4];
        options.tenure_low = set[5];
        options.tenure_high = set[6];
        options.aspiration = set[7];
        nb::gil_scoped_release release;
        tabu_many(problem, out(place), in(seed), options, Control(control.data(), work.data()), threads,
                  out(change), out(done));
      },
      "flow"_a.noconvert(), "distance"_a.noconvert(), "linear_cost"_a.noconvert(), "symmetric"_a,
      "seeds"_a.noconvert(), "settings"_a.noconvert(), "threads"_a, "control"_a.noconvert(),
      "work"_a.noconvert(), "place"_a.noconvert(), "change"_a.noconvert(), "done"_a.noconvert());
}
