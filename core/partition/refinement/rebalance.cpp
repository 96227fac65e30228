#include "partition/refinement/rebalance.hpp"

namespace hopbytes {

namespace {

int64_t per_load(int64_t gain, int64_t load) { return gain < 0 ? gain / std::max<int64_t>(load, 1) : gain; }

}  // namespace

template <class W> void Rebalance<W>::refine(Partition<W>& partition, Rng&, const Control&) {
  if (partition.overload() == 0) return;
  // Collects the vertices of all overloaded blocks in one pass and keeps the other blocks in a heap by their
  // room, so that neither the vertices nor the blocks are scanned repeatedly.
  partition.find_boundary();
  const Graph<W>& g = partition.graph();
  moved_.clear();
  rooms_ = {};
  heap_.resize(g.n);
  std::vector<std::vector<int32_t>> members(partition.k());
  for (int32_t v = 0; v < g.n; ++v)
    if (partition.overloaded(partition.block(v)) && g.load[v] > 0) members[partition.block(v)].push_back(v);
  for (int32_t b = 0; b < partition.k(); ++b)
    if (!partition.overloaded(b)) rooms_.push({partition.room(b), b});
  for (int32_t b = 0; b < partition.k(); ++b) {
    if (!partition.overloaded(b)) continue;
    drain(partition, b, members[b]);
    if (!partition.overloaded(b)) rooms_.push({partition.room(b), b});
  }
  partition.update_boundary(moved_, near_moves_);
}

template <class W>
void Rebalance<W>::drain(Partition<W>& partition, int32_t block, const std::vector<int32_t>& members) {
  const Graph<W>& g = partition.graph();
  for (int32_t v : members)
    if (const Choice choice = choose(partition, v); choice.block >= 0)
      heap_.push(v, per_load(choice.gain, g.load[v]));
  while (!heap_.empty() && partition.overloaded(block)) {
    const int32_t v = heap_.top();
    const int64_t key = heap_.top_key();
    const Choice choice = choose(partition, v);
    if (choice.block < 0) {
      heap_.pop();
      continue;
    }
    const int64_t now = per_load(choice.gain, g.load[v]);
    if (now < key) {
      heap_.change(v, now);
      continue;
    }
    heap_.pop();
    partition.move(v, choice.block);
    moved_.push_back(v);
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t u = g.adj[e];
      // A hub is re-evaluated only when it comes to the top of the heap: evaluating it costs O(degree), too
      // much for every neighbour that leaves.
      if (!heap_.contains(u) || g.degree(u) > kHubDegree) continue;
      const Choice again = choose(partition, u);
      if (again.block >= 0) heap_.change(u, per_load(again.gain, g.load[u]));
    }
  }
  heap_.clear();
}

// Returns where v moves if it has to leave its block: the best adjacent block with room, else the block with
// the most room.
template <class W>
typename Rebalance<W>::Choice Rebalance<W>::choose(Partition<W>& partition, int32_t v) {
  Choice best = partition.choose(v, 0);
  if (best.block >= 0) return best;
  const int32_t emptiest = most_room(partition);
  if (emptiest < 0 || partition.graph().load[v] > partition.room(emptiest) || !partition.allows(v, emptiest))
    return best;
  return {emptiest, partition.gain(v, emptiest)};
}

// Returns the block with the most room (of equal ones the first), -1 if all blocks are overloaded. While
// blocks are drained, rooms only shrink; the block being drained is not in the heap.
template <class W> int32_t Rebalance<W>::most_room(const Partition<W>& partition) {
  while (!rooms_.empty()) {
    const Room top = rooms_.top();
    const int64_t room = partition.room(top.block);
    if (room == top.room) return top.block;
    rooms_.pop();
    rooms_.push({room, top.block});
  }
  return -1;
}

template class Rebalance<int32_t>;
template class Rebalance<int64_t>;

}  // namespace hopbytes
