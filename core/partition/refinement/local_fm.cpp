#include "partition/refinement/local_fm.hpp"

namespace hopbytes {

template <class W>
void LocalFm<W>::refine(Partition<W>& partition, Rng& rng, const Control& control) {
  partition.find_boundary();
  const Graph<W>& g = partition.graph();
  slack_ = g.max_load;
  moved_in_round_.resize(std::max<size_t>(moved_in_round_.size(), g.n), 0);
  searches_.resize(std::max<size_t>(searches_.size(), control.threads()));
  seeds_ = partition.boundary();
  searched_ = 0;
  work_limit_ = partition.scanned_edges() + context_.most_work * (g.n + g.arcs());
  for (int32_t round = 0; round < context_.rounds && !control.should_stop(); ++round) {
    const int64_t gain = run_round(partition, rng, control);
    // The next round starts from where a vertex moved.
    partition.update_boundary(moved_, seeds_);
    if (gain <= 0) break;
  }
}

// The first search of a round often finds what all others would find, above all in graphs where every vertex
// is near every other one. So a round starts with batches of few searches, which grow while searches do not
// get in each other's way. They have at most a quarter of the searches of the round, and no more than the
// round would make without a gain. Where a seed is a hub, every gain opens up others: large batches miss
// several per cent there, small ones nothing (five irregular graphs).
template <class W>
int64_t LocalFm<W>::run_round(Partition<W>& partition, Rng& rng, const Control& control) {
  constexpr int64_t growth = 4, fewest_batches = 4, most_outdated = 8, most_beside_hubs = 8;
  moved_.clear();
  rng.shuffle(seeds_);
  const bool hubs = std::any_of(seeds_.begin(), seeds_.end(),
                                [&](int32_t v) { return partition.graph().degree(v) > kHubDegree; });
  const int64_t share = std::max<int64_t>(1, searches_from(std::ssize(seeds_)) / fewest_batches);
  const int64_t most = hubs ? std::min(share, most_beside_hubs) : share;
  int64_t total = 0, size = 1;
  next_seed_ = 0;
  fruitless_ = 0;
  while (next_seed_ < seeds_.size() && fruitless_ < context_.fruitless_searches && work_left(partition) > 0 &&
         !control.should_stop()) {
    const int64_t count = take_seeds(std::min<int64_t>(size, context_.fruitless_searches - fruitless_));
    search(partition, count, control);
    const Outcome outcome = make_moves(partition, count);
    total += outcome.gain;
    if (most_outdated * outcome.outdated > outcome.work) size = std::max<int64_t>(1, size / 2);
    else size = std::min(most, growth * size);
  }
  for (int32_t v : moved_) moved_in_round_[v] = 0;
  return total;
}

// Takes the seeds of the next batch, which has at most so many searches. Returns how many it has.
template <class W> int64_t LocalFm<W>::take_seeds(int64_t most) {
  batch_.clear();
  for (; next_seed_ < seeds_.size() && std::ssize(batch_) < most * seeds_per_search(); ++next_seed_)
    if (!moved_in_round_[seeds_[next_seed_]]) batch_.push_back(seeds_[next_seed_]);
  return searches_from(std::ssize(batch_));
}

template <class W> std::span<const int32_t> LocalFm<W>::seeds_of(int64_t search) const {
  const int64_t begin = search * seeds_per_search();
  return std::span(batch_).subspan(begin, std::min(seeds_per_search(), std::ssize(batch_) - begin));
}

// Runs the searches of a batch, which share the work that is left, and keeps the rows that they computed.
template <class W>
void LocalFm<W>::search(Partition<W>& partition, int64_t count, const Control& control) {
  const typename FmSearch<W>::Limits limits{context_.fruitless_moves, slack_,
                                            work_left(partition) / std::max<int64_t>(1, count)};
  found_.resize(std::max<size_t>(found_.size(), count));
  parallel_ranges(count, 1, control.team(), [&](int32_t worker, int64_t i, int64_t) {
    searches_[worker].run(partition, seeds_of(i), moved_in_round_, limits, found_[i]);
  });
  int64_t longest = 0, sum = 0;
  for (const Result& found : std::span(found_).first(count)) {
    longest = std::max(longest, found.scanned_edges);
    sum += found.scanned_edges;
    for (size_t i = 0; i < found.computed.size(); ++i)
      partition.keep_row(found.computed[i], found.computed_rows.data() + i * partition.k());
  }
  searched_ += sum;
  control.record_parallel_work(sum, longest);
}

template <class W>
typename LocalFm<W>::Outcome LocalFm<W>::make_moves(Partition<W>& partition, int64_t count) {
  Outcome outcome;
  for (int64_t i = 0; i < count; ++i) {
    const Result& found = found_[i];
    const int64_t gain = found.moves.empty() ? 0 : make_moves_of(partition, found);
    outcome.gain += gain;
    outcome.work += found.scanned_edges;
    if (found.gain > 0 && 2 * gain < found.gain) outcome.outdated += found.scanned_edges;
    if (found.gain > 0 && gain <= 0) {  // Other searches were in its way.
      const std::span<const int32_t> seeds = seeds_of(i);
      seeds_.insert(seeds_.end(), seeds.begin(), seeds.end());
    } else {
      fruitless_ = gain > 0 ? 0 : fruitless_ + 1;
    }
  }
  return outcome;
}

// Makes the moves of a search that are still possible, up to the best state on the way. If that is less than
// half of what the search had gained, it makes none, since the same seeds lead to more now. Returns the gain,
// which is negative if the moves make less of a block too heavy at a price.
template <class W> int64_t LocalFm<W>::make_moves_of(Partition<W>& partition, const Result& found) {
  const Graph<W>& g = partition.graph();
  log_.clear();
  int64_t gain = 0, best_gain = 0, over = 0;
  size_t best_length = 0;
  for (const auto [v, to] : found.moves) {
    const int32_t from = partition.block(v);
    const int64_t slack = partition.overloaded(from) ? 0 : slack_;
    if (moved_in_round_[v] || g.load[v] - slack > partition.room(to)) continue;
    gain += partition.gain(v, to);
    over -= partition.excess(from) + partition.excess(to);
    partition.move(v, to);
    moved_in_round_[v] = 1;
    over += partition.excess(from) + partition.excess(to);
    log_.push_back({v, from});
    if (over <= 0 && (gain > best_gain || over < 0)) {
      best_gain = gain, best_length = log_.size();
      over = 0;
    }
  }
  if (found.gain > 0 && 2 * best_gain < found.gain) best_gain = 0, best_length = 0;
  while (log_.size() > best_length) {
    partition.move(log_.back().vertex, log_.back().from);
    moved_in_round_[log_.back().vertex] = 0;  // Later searches of this round may move it.
    log_.pop_back();
  }
  for (const Move& m : log_) moved_.push_back(m.vertex);
  return best_gain;
}

template class LocalFm<int32_t>;
template class LocalFm<int64_t>;

}  // namespace hopbytes
