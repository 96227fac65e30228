// Random perturbations of a mapping: a few exchanges near each other, drawn before any of them is made.
#pragma once
#include "assignment/partner_search.hpp"

namespace hopbytes {

using TaskPairs = std::vector<std::pair<int32_t, int32_t>>;

template <class W, class D> class PerturbationDraw {
 public:
  explicit PerturbationDraw(const SwapState<W, D>& state)
      : state_(state), g_(state.graph()), costs_(state.costs()), slots_(state.slots()) {}

  // Draws exchanges of two to four tasks with tasks next to one of their neighbours, each exchange near the
  // previous one. They have to be made in turn. Notes the cells on which they depend.
  const TaskPairs& draw(Rng& rng, CellNotes* notes = nullptr) {
    exchanges_.clear(), moved_.clear(), shifts_.clear();
    int32_t u = any_task(rng, notes);
    for (int draws = 0; draws < 8 && state_.largest_gain(u) <= 0; ++draws) u = any_task(rng, notes);
    const int64_t length = 2 + static_cast<int64_t>(rng.below(3));
    for (int64_t i = 0; i < length && g_.degree(u) > 0 && !state_.hub(u); ++i) {
      const int32_t w = g_.adj[g_.start[u] + static_cast<int64_t>(rng.below(g_.degree(u)))];
      if (notes) note(w, *notes);
      const PeRange cell = state_.cells().cell_range(pe(w));
      const int32_t v = task(slots_.first(cell) + static_cast<int64_t>(rng.below(slots_.size(cell))));
      if (v != u && !state_.hub(v) &&
          costs_.allowed(u, pe(u), v, pe(v), [this](int32_t p) { return more(p); }))
        exchange(u, v);
      u = rng.below(2) ? w : v;
    }
    return exchanges_;
  }

 private:
  // Where a task is after the exchanges that were drawn.
  struct Moved {
    int32_t task, pe, slot;
  };

  int32_t any_task(Rng& rng, CellNotes* notes) const {
    const auto u = static_cast<int32_t>(rng.below(g_.n));
    if (notes) note(u, *notes);
    return u;
  }
  void note(int32_t v, CellNotes& notes) const { notes.add(state_.cells().cell_of(costs_.pe(v))); }

  int32_t pe(int32_t v) const {
    for (const Moved& moved : moved_)
      if (moved.task == v) return moved.pe;
    return costs_.pe(v);
  }
  int32_t task(int64_t slot) const {
    for (const Moved& moved : moved_)
      if (moved.slot == slot) return moved.task;
    return slots_.task(slot);
  }
  // How much more a PE holds than before the exchanges.
  int64_t more(int32_t p) const {
    int64_t sum = 0;
    for (const auto& [pe, shift] : shifts_) sum += pe == p ? shift : 0;
    return sum;
  }

  size_t number(int32_t v) {
    for (size_t i = 0; i < moved_.size(); ++i)
      if (moved_[i].task == v) return i;
    moved_.push_back({v, costs_.pe(v), slots_.slot(v)});
    return moved_.size() - 1;
  }
  void exchange(int32_t u, int32_t v) {
    exchanges_.emplace_back(u, v);
    const size_t i = number(u), j = number(v);
    const int64_t shift = g_.load[v] - g_.load[u];
    if (shift != 0) shifts_.emplace_back(moved_[i].pe, shift), shifts_.emplace_back(moved_[j].pe, -shift);
    std::swap(moved_[i].pe, moved_[j].pe);
    std::swap(moved_[i].slot, moved_[j].slot);
  }

  const SwapState<W, D>& state_;
  const Graph<W>& g_;
  const Exchange<W, D>& costs_;
  const Slots& slots_;
  TaskPairs exchanges_;
  std::vector<Moved> moved_;
  std::vector<std::pair<int32_t, int64_t>> shifts_;
};

}  // namespace hopbytes
