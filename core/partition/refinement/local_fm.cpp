#include "partition/refinement/local_fm.hpp"

#include <algorithm>

namespace hopbytes {

template <class W>
void LocalFm<W>::refine(Partition<W>& partition, Rng& rng, const Control& control) {
  partition.find_boundary();
  const Graph<W>& g = partition.graph();
  slack_ = g.max_load;
  heap_.resize(g.n);
  moved_in_round_.resize(std::max<size_t>(moved_in_round_.size(), g.n), 0);
  seeds_ = partition.boundary();
  work_limit_ = partition.scanned_edges() + context_.most_work * (g.n + g.arcs());
  for (int32_t round = 0; round < context_.rounds && !control.should_stop(); ++round) {
    const int64_t gain = run_round(partition, rng, control);
    // The next round starts from where a vertex moved.
    partition.update_boundary(moved_, seeds_);
    if (gain <= 0) break;
  }
}

template <class W>
int64_t LocalFm<W>::run_round(Partition<W>& partition, Rng& rng, const Control& control) {
  moved_.clear();
  rng.shuffle(seeds_);
  int64_t total = 0;
  size_t next = 0;
  int32_t fruitless = 0;
  while (next < seeds_.size() && fruitless < context_.fruitless_searches && within_limit(partition) &&
         !control.should_stop()) {
    for (int32_t queued = 0; queued < std::max(1, context_.seeds) && next < seeds_.size(); ++next) {
      const int32_t v = seeds_[next];
      if (moved_in_round_[v]) continue;
      const Choice choice = partition.choose(v, slack_);
      if (choice.block < 0) continue;
      heap_.push(v, choice.gain);
      ++queued;
    }
    const int64_t gain = search(partition);
    total += gain;
    fruitless = gain > 0 ? 0 : fruitless + 1;
  }
  for (int32_t v : moved_) moved_in_round_[v] = 0;
  return total;
}

// Runs one search from the vertices in the heap. Returns its gain.
template <class W> int64_t LocalFm<W>::search(Partition<W>& partition) {
  log_.clear();
  int64_t gain = 0, best_gain = 0;
  size_t best_length = 0;
  int64_t over = 0;  // overload relative to the start of the search
  int32_t fruitless = 0;
  while (!heap_.empty() && fruitless <= context_.fruitless_moves && within_limit(partition)) {
    const int32_t v = heap_.top();
    const Choice choice = partition.choose(v, slack_);
    if (choice.block < 0) {
      heap_.pop();
      continue;
    }
    if (choice.gain < heap_.top_key()) {  // Loads have changed since the vertex was queued.
      heap_.change(v, choice.gain);
      if (heap_.top() != v) continue;
    }
    heap_.pop();
    const int32_t from = partition.block(v);
    over -= partition.excess(from) + partition.excess(choice.block);
    moved_in_round_[v] = 1;
    partition.move(v, choice.block, [&](int32_t u) { update(partition, u); });
    over += partition.excess(from) + partition.excess(choice.block);
    log_.push_back({v, from});
    gain += choice.gain;
    if (over <= 0 && (gain > best_gain || over < 0)) {
      best_gain = gain, best_length = log_.size(), fruitless = 0;
      if (over < 0) over = 0;
    } else {
      ++fruitless;
    }
  }
  heap_.clear();
  while (log_.size() > best_length) {
    partition.move(log_.back().vertex, log_.back().from);
    moved_in_round_[log_.back().vertex] = 0;  // Later searches of this round may move it.
    log_.pop_back();
  }
  for (const Move& m : log_) moved_.push_back(m.vertex);
  return best_gain;
}

// Queues v under its present gain, if it may move.
template <class W> void LocalFm<W>::update(Partition<W>& partition, int32_t v) {
  if (moved_in_round_[v] || partition.graph().degree(v) > kHubDegree) return;
  const Choice choice = partition.choose(v, slack_);
  if (choice.block >= 0) heap_.set(v, choice.gain);
  else if (heap_.contains(v)) heap_.remove(v);
}

template class LocalFm<int32_t>;
template class LocalFm<int64_t>;

}  // namespace hopbytes
