// Binds core/changing: a graph under change, and its mapping.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "changing/batch_update.hpp"
#include "search_arguments.hpp"

namespace hopbytes {

// In the order of ArcRows, PlacementState, LocalSettings and Changes of engine/changing.py.
inline auto fields(ArcRows& r) {
  return std::tie(r.start, r.count, r.space, r.target, r.opposite, r.weight, r.pool);
}
inline auto fields(PlacementArrays& r) {
  return std::tie(r.pe, r.home, r.load, r.next, r.previous, r.outer, r.mark, r.first, r.held, r.pe_load,
                  r.most, r.least, r.weight_to, r.cap, r.usable, r.counter);
}
inline auto fields(LocalSettings& r) {
  return std::tie(r.price, r.most_displaced, r.fruitless, r.seeds, r.rounds, r.work, r.keep_one);
}
inline auto fields(Changes& r) {
  return std::tie(r.u, r.v, r.old, r.now, r.vanished, r.loaded, r.load, r.arrived, r.lost, r.restored, r.sent,
                  r.sent_to, r.caps_changed);
}

}  // namespace hopbytes

using namespace hopbytes;

namespace {

void expect_rows_under_change(const ArcRows& rows) {
  expect(rows.count.size() == rows.start.size() && rows.space.size() == rows.start.size() &&
             rows.opposite.size() == rows.target.size() && rows.weight.size() == rows.target.size() &&
             rows.pool.size() >= ArcRows::kFree + ArcRows::kSizes,
         "arrays of rows");
}

void expect_pairs(In<int32_t> u, In<int32_t> v, size_t before, size_t after, int64_t rows) {
  expect(u.size() == v.size() && before == u.size() && after == u.size(), "pairs");
  expect_below(u, rows, "tasks");
  expect_below(v, rows, "tasks");
}

void expect_state(const PlacementArrays& s, int64_t rows) {
  const size_t n = s.pe.size(), k = s.held.size();
  expect(std::ssize(s.pe) <= rows && s.home.size() == n && s.load.size() == n && s.next.size() == n &&
             s.previous.size() == n && s.outer.size() == n && s.mark.size() == n && s.first.size() == 2 * k &&
             s.pe_load.size() == k && s.most.size() == 2 * std::bit_ceil(k) &&
             s.least.size() == s.most.size() && s.weight_to.size() == k && s.cap.size() == k &&
             s.usable.size() == k && s.counter.size() == kPlacementCounters,
         "arrays of a state");
}

void expect_changes(const Changes& c, int64_t n, int64_t k) {
  expect_pairs(c.u, c.v, c.old.size(), c.now.size(), n);
  expect(c.loaded.size() == c.load.size() && c.sent.size() == c.sent_to.size(), "changes");
  for (const auto& tasks : {c.vanished, c.loaded, c.arrived, c.sent}) expect_below(tasks, n, "tasks");
  for (const auto& pes : {c.lost, c.restored, c.sent_to}) expect_below(pes, k, "PEs");
}

}  // namespace

void bind_changing(nb::module_& m) {
  define(
      m, "changing_pairs",
      [](const ArcRows& rows, In<int32_t> u, In<int32_t> v, In<int64_t> w, Out<int64_t> old, int64_t begin) {
        expect_rows_under_change(rows);
        expect_pairs(u, v, w.size(), old.size(), std::ssize(rows.start));
        expect(begin >= 0, "pairs");
        return set_pairs(rows, u, v, w, old, begin);
      });
  define(m, "changing_update",
         [](const ArcRows& rows, const PlacementArrays& state, const DistanceArrays& distances,
            const LocalSettings& settings, const Changes& changes) {
           expect_rows_under_change(rows);
           expect_state(state, std::ssize(rows.start));
           expect_changes(changes, std::ssize(state.pe), std::ssize(state.held));
           BatchUpdate update(rows, state, any_distance(distances, state.held.size()), settings);
           std::tuple<bool, bool, int64_t, std::vector<int32_t>, std::vector<int32_t>> result;
           auto& [met, agrees, forced, moved, from] = result;
           met = update.run(changes, forced);
           agrees = update.agrees(changes);
           update.report(moved, from);
           update.settle(changes);
           return result;
         });
}
