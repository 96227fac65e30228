// Binds tabu.hpp.
#include "assignment/tabu.hpp"
#include "search_arguments.hpp"

using namespace hopbytes;

namespace {

TabuOptions tabu_options(NamedSettings& settings) {
  TabuOptions options;
  settings.read("iterations", options.iterations);
  settings.read("fruitless", options.fruitless);
  settings.read("tenure_low", options.tenure_low);
  settings.read("tenure_high", options.tenure_high);
  settings.expect_all_read();
  return options;
}

}  // namespace

void bind_tabu(nb::module_& m) {
  define(m, "tabu_many",
         [](In<int64_t> flow, In<int64_t> distance, In<int64_t> linear_cost, bool symmetric,
            In<uint64_t> seed, NamedSettings settings, Team& team, Control control, Out<int32_t> place,
            Out<int64_t> change, Out<int64_t> done) {
           const TabuOptions options = tabu_options(settings);
           DenseProblem problem;
           problem.n = seed.empty() ? 0 : static_cast<int64_t>(place.size() / seed.size());
           problem.symmetric = symmetric;
           problem.flow = flow, problem.distance = distance, problem.linear_cost = linear_cost;
           const size_t pairs = static_cast<size_t>(problem.n) * problem.n;
           expect(flow.size() == pairs && distance.size() == pairs &&
                      (linear_cost.empty() || linear_cost.size() == pairs) &&
                      place.size() == seed.size() * problem.n && change.size() == seed.size() &&
                      done.size() == seed.size(),
                  "matrices and permutations");
           expect_below(place, problem.n, "places");
           tabu_many(problem, place, seed, options, control.with_team(team), change, done);
         });
}
