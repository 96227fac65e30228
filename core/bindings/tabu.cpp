// Binds tabu.hpp and block_annealing.hpp.
#include "assignment/block_annealing.hpp"
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

DenseProblem dense_problem(In<int64_t> flow, In<int64_t> distance, In<int64_t> linear_cost, bool symmetric,
                           size_t places, size_t searches) {
  DenseProblem problem;
  problem.n = searches ? static_cast<int64_t>(places / searches) : 0;
  problem.symmetric = symmetric;
  problem.flow = flow, problem.distance = distance, problem.linear_cost = linear_cost;
  const size_t pairs = static_cast<size_t>(problem.n) * problem.n;
  expect(flow.size() == pairs && distance.size() == pairs &&
             (linear_cost.empty() || linear_cost.size() == pairs) && places == searches * problem.n,
         "matrices and permutations");
  return problem;
}

}  // namespace

void bind_tabu(nb::module_& m) {
  define(m, "tabu_many",
         [](In<int64_t> flow, In<int64_t> distance, In<int64_t> linear_cost, bool symmetric,
            In<uint64_t> seed, NamedSettings settings, Team& team, Control control, Out<int32_t> place,
            Out<int64_t> change, Out<int64_t> done) {
           const TabuOptions options = tabu_options(settings);
           const DenseProblem problem =
               dense_problem(flow, distance, linear_cost, symmetric, place.size(), seed.size());
           expect(change.size() == seed.size() && done.size() == seed.size(), "results");
           expect_below(place, problem.n, "places");
           tabu_many(problem, place, seed, options, control.with_team(team), change, done);
         });
  define(m, "anneal_blocks",
         [](In<int64_t> flow, In<int64_t> distance, In<int64_t> linear_cost, bool symmetric,
            In<int64_t> task_difference, In<int32_t> task_order, In<int64_t> place_difference,
            In<int32_t> place_order, In<uint64_t> seed, NamedSettings settings, double temperature,
            Team& team, Control control, Out<int32_t> place, Out<int32_t> best, Out<int64_t> done) {
           BlockAnnealingOptions options;
           settings.read("iterations", options.iterations);
           settings.read("descents", options.descents);
           settings.expect_all_read();
           options.temperature = temperature;
           const DenseProblem problem =
               dense_problem(flow, distance, linear_cost, symmetric, place.size(), seed.size());
           const Similarity tasks{task_difference, task_order}, places{place_difference, place_order};
           for (const Similarity& similar : {tasks, places})
             expect(similar.difference.size() == flow.size() && similar.order.size() == flow.size(),
                    "differences");
           expect_below(task_order, problem.n, "tasks");
           expect_below(place_order, problem.n, "places");
           expect(problem.n >= 2 && best.size() == place.size() && done.size() == seed.size(), "results");
           expect_below(place, problem.n, "places");
           anneal_blocks(problem, tasks, places, place, seed, options, control.with_team(team), best, done);
         });
}
