// Binds tabu.hpp.
#include "arrays.hpp"
#include "named_settings.hpp"
#include "assignment/tabu.hpp"
#include "released_lock.hpp"
#include "util/team_of_call.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;

namespace {

TabuOptions tabu_options(const nb::dict& given) {
  NamedSettings settings(given);
  TabuOptions options;
  settings.read("iterations", options.iterations);
  settings.read("fruitless", options.fruitless);
  settings.read("fruitless_before_perturbation", options.fruitless_before_perturbation);
  settings.read("least_perturbation", options.least_perturbation);
  settings.read("most_perturbation", options.most_perturbation);
  settings.read("tenure_low", options.tenure_low);
  settings.read("tenure_high", options.tenure_high);
  settings.read("aspiration", options.aspiration);
  settings.expect_all_read();
  return options;
}

}  // namespace

void bind_tabu(nb::module_& m) {
  m.def(
      "tabu_many",
      [](InArray<int64_t> flow, InArray<int64_t> distance, InArray<int64_t> linear_cost, bool symmetric,
         InArray<uint64_t> seed, const nb::dict& given, int32_t threads, OutArray<int32_t> control,
         OutArray<int64_t> work, OutArray<int32_t> place, OutArray<int64_t> change, OutArray<int64_t> done) {
        const TabuOptions options = tabu_options(given);
        DenseProblem problem;
        problem.n = seed.size() ? static_cast<int64_t>(place.size() / seed.size()) : 0;
        problem.symmetric = symmetric;
        problem.flow = in(flow), problem.distance = in(distance), problem.linear_cost = in(linear_cost);
        const ReleasedLock released;
        const TeamOfCall team(threads);
        tabu_many(problem, out(place), in(seed), options,
                  Control(control.data(), work.data()).with_team(team), out(change), out(done));
      },
      "flow"_a.noconvert(), "distance"_a.noconvert(), "linear_cost"_a.noconvert(), "symmetric"_a,
      "seeds"_a.noconvert(), "settings"_a, "threads"_a, "control"_a.noconvert(), "work"_a.noconvert(),
      "place"_a.noconvert(), "change"_a.noconvert(), "done"_a.noconvert());
}
