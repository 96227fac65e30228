// Mapping of a graph that arrives in blocks of vertices: each vertex goes down the tree of PEs (multisection
// with a score per level), or moves to the PE of a neighbour where that lowers J. The state of all blocks so
// far is in arrays of the caller: the PE of every vertex, and the load of every node of the tree.
#pragma once
#include <cmath>

#include "graph/checked.hpp"
#include "util/assert.hpp"

namespace hopbytes {

// Rows of vertices from `first` on; targets are of the whole graph. Empty weights and loads mean 1 each.
struct StreamBlock : Csr {
  int64_t first = 0;
  In<int64_t> load;
};

// Throws unless these are rows of a graph with n vertices; targets may be wrong.
inline void expect_block(const StreamBlock& block, int64_t n) {
  expect_offsets(block.indptr, block.target.size(), "arrays of a block");
  expect(block.first >= 0 && block.n() <= n - block.first &&
             (block.weight.empty() || block.weight.size() == block.target.size()) &&
             (block.load.empty() || std::ssize(block.load) == block.n()),
         "arrays of a block");
}

// The same for targets, too, and for the numbers that the vertices of the block and their targets have.
inline void expect_numbers(const StreamBlock& block, In<int32_t> number, int64_t lowest, int64_t count,
                           const char* what) {
  expect_block(block, std::ssize(number));
  expect_below(block.target, std::ssize(number), "targets");
  expect_below(number.subspan(block.first, block.n()), count, what, Team::alone(), lowest);
  bool wrong = false;
  for (const int32_t v : block.target) wrong |= number[v] < lowest || number[v] >= count;
  if (wrong) throw std::invalid_argument(std::string(what) + " outside their range");
}

// Nodes are numbered level by level from the root (0), the children of a node consecutively: those of x are
// first_child[x] .. first_child[x+1]-1. All PEs are at the same depth.
struct StreamTree {
  In<int32_t> first_child;  // nodes + 1; leaves have no children
  In<int32_t> path;  // depth x k: the node at depth d+1 that holds PE p is path[d*k + p]
  In<int32_t> pe_of_leaf;  // per leaf, from the first leaf on
  In<int64_t> cap;  // 2 x nodes: largest load, largest number of vertices without load
  In<int64_t> gain;  // per depth: the distance saved if two vertices are together from there on

  int64_t nodes() const { return static_cast<int64_t>(first_child.size()) - 1; }
  int64_t k() const { return std::ssize(pe_of_leaf); }
  int64_t depth() const { return static_cast<int64_t>(gain.size()); }
};

enum StreamCounter : int { kRemaining, kFillAll, kForced, kOverfull, kMoves, kStreamCounters };

struct StreamState {
  Out<int32_t> pe;  // per vertex of the graph, -1 if not placed yet
  Out<int64_t> load;  // 2 x nodes, as `cap`
  Out<int64_t> tasks;  // per PE: its vertices
  Out<int64_t> empty;  // per node: PEs below it without a vertex
  // kRemaining: vertices that are still to come; kFillAll: whether no PE may stay empty; then counts of
  // vertices that found no room on their way, of those that exceed a bound, and of moves
  Out<int64_t> counter;
};

inline void expect_tree(const StreamTree& tree) {
  const int64_t nodes = tree.nodes(), k = tree.k();
  expect(k > 0 && nodes > k && std::ssize(tree.cap) == 2 * nodes && std::ssize(tree.path) == tree.depth() * k,
         "arrays of a tree");
  expect_below(tree.first_child, nodes + 1, "nodes");
  expect_below(tree.path, nodes, "nodes");
  expect_below(tree.pe_of_leaf, k, "PEs");
}

class StreamMapper {
 public:
  StreamMapper(const StreamTree& tree, const StreamState& state)
      : tree_(tree), state_(state), weight_of_pe_(tree.k(), 0), weight_of_node_(tree.nodes(), 0) {
    expect_tree(tree);
    expect(state.load.size() == tree.cap.size() && std::ssize(state.empty) == tree.nodes() &&
               std::ssize(state.tasks) == tree.k() && state.counter.size() == kStreamCounters,
           "a state and a tree");
  }

  // Places every vertex of the block, or places it again if it has a PE. penalty[2*nodes]: what a node costs
  // a vertex of load 1, divided by the square root of the load of the node.
  void assign(const StreamBlock& block, In<double> penalty) {
    expect_numbers(block, state_.pe, -1, tree_.k(), "PEs");
    expect(penalty.size() == tree_.cap.size(), "penalties of a tree");
    for (int64_t row = 0; row < block.n(); ++row) {
      const int64_t vertex = block.first + row;
      const Size size = size_of(block, row);
      if (state_.pe[vertex] >= 0) remove(state_.pe[vertex], size);
      gather(block, row);
      const bool fill = state_.counter[kFillAll] && state_.counter[kRemaining] <= state_.empty[0];
      const int32_t pe = descend(size, fill, penalty);
      forget();
      add(pe, size);
      state_.pe[vertex] = pe;
      --state_.counter[kRemaining];
    }
  }

  // Moves vertices of the block to PEs of their neighbours where that lowers J and keeps the bounds.
  void refine(const StreamBlock& block) {
    expect_numbers(block, state_.pe, -1, tree_.k(), "PEs");
    for (int64_t row = 0; row < block.n(); ++row) {
      const int64_t vertex = block.first + row;
      const int32_t own = state_.pe[vertex];
      const Size size = size_of(block, row);
      const bool over = size.load > 0 && over_cap(own, size.kind);
      if (!over && state_.counter[kFillAll] && state_.tasks[own] == 1) continue;
      gather(block, row);
      if (over || touched_.size() > 1 || (touched_.size() == 1 && touched_[0] != own)) {
        const int32_t best = best_neighbour(own, size, over);
        if (best != own) {
          remove(own, size);
          add(best, size);
          state_.pe[vertex] = best;
          ++state_.counter[kMoves];
        }
      }
      forget();
    }
  }

 private:
  struct Size {
    int64_t load;
    int64_t kind;  // 0: load, 1: a vertex without load, of which there are only so many per PE
  };

  static Size size_of(const StreamBlock& block, int64_t row) {
    if (block.load.empty()) return {1, 0};
    return block.load[row] > 0 ? Size{block.load[row], 0} : Size{1, 1};
  }
  int64_t at(int64_t node, int64_t kind) const { return kind * tree_.nodes() + node; }
  int32_t node_at(int64_t depth, int32_t pe) const { return tree_.path[depth * tree_.k() + pe]; }
  int32_t leaf(int32_t pe) const { return node_at(tree_.depth() - 1, pe); }
  int64_t room(int64_t node, int64_t kind) const {
    return tree_.cap[at(node, kind)] - state_.load[at(node, kind)];
  }
  bool over_cap(int32_t pe, int64_t kind) const { return room(leaf(pe), kind) < 0; }

  void add(int32_t pe, const Size& size) { change(pe, size, 1); }
  void remove(int32_t pe, const Size& size) { change(pe, size, -1); }
  void change(int32_t pe, const Size& size, int64_t sign) {
    state_.load[at(0, size.kind)] += sign * size.load;
    for (int64_t d = 0; d < tree_.depth(); ++d)
      state_.load[at(node_at(d, pe), size.kind)] += sign * size.load;
    const bool was_empty = state_.tasks[pe] == 0;
    state_.tasks[pe] += sign;
    HOPBYTES_CHECK(state_.tasks[pe] >= 0 && state_.load[at(0, size.kind)] >= 0);
    const bool is_empty = state_.tasks[pe] == 0;
    if (was_empty == is_empty) return;
    state_.empty[0] += is_empty ? 1 : -1;
    for (int64_t d = 0; d < tree_.depth(); ++d) state_.empty[node_at(d, pe)] += is_empty ? 1 : -1;
  }

  // Sums the weight between a vertex and every PE on which it has neighbours.
  void gather(const StreamBlock& block, int64_t row) {
    const int64_t vertex = block.first + row;
    for (int64_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e) {
      const int32_t neighbour = block.target[e];
      const int32_t pe = state_.pe[neighbour];
      if (pe < 0 || neighbour == vertex || block.w(e) <= 0) continue;
      if (weight_of_pe_[pe] == 0) touched_.push_back(pe);
      weight_of_pe_[pe] += block.w(e);
    }
  }
  void forget() {
    for (int32_t pe : touched_) weight_of_pe_[pe] = 0;
    touched_.clear();
  }

  int32_t descend(const Size& size, bool fill, In<double> penalty) {
    inside_.assign(touched_.begin(), touched_.end());
    int64_t node = 0;
    for (int64_t d = 0; d < tree_.depth(); ++d) {
      for (int32_t pe : inside_) weight_of_node_[node_at(d, pe)] += weight_of_pe_[pe];
      const int64_t next = best_child(node, size, fill, penalty);
      for (int32_t pe : inside_) weight_of_node_[node_at(d, pe)] = 0;
      if (next < 0) return most_room(size);
      std::erase_if(inside_, [&](int32_t pe) { return node_at(d, pe) != next; });
      node = next;
    }
    return tree_.pe_of_leaf[node - (tree_.nodes() - tree_.k())];
  }

  // The child with room and the largest weight less penalty, of equals the lighter one; -1 if none has room.
  int64_t best_child(int64_t node, const Size& size, bool fill, In<double> penalty) const {
    int64_t best = -1;
    double best_score = 0;
    for (int64_t child = tree_.first_child[node]; child < tree_.first_child[node + 1]; ++child) {
      if (room(child, size.kind) < size.load || (fill && state_.empty[child] == 0)) continue;
      const double load = static_cast<double>(state_.load[at(child, size.kind)]);
      const double score = static_cast<double>(weight_of_node_[child]) -
                           static_cast<double>(size.load) * (penalty[at(child, size.kind)] * std::sqrt(load));
      if (best < 0 || score > best_score ||
          (score == best_score && state_.load[at(child, size.kind)] < state_.load[at(best, size.kind)])) {
        best = child;
        best_score = score;
      }
    }
    return best;
  }

  // The PE with most room, the first of equals: a node may have room for a vertex that none of its PEs has.
  int32_t most_room(const Size& size) {
    int32_t best = 0;
    for (int32_t pe = 1; pe < tree_.k(); ++pe)
      if (room(leaf(pe), size.kind) > room(leaf(best), size.kind)) best = pe;
    ++state_.counter[kForced];
    if (room(leaf(best), size.kind) < size.load) ++state_.counter[kOverfull];
    return best;
  }

  // What a vertex saves on a PE: per depth the weight of the neighbours that are together with it there.
  int64_t saved(int32_t pe) const {
    int64_t sum = 0;
    for (int64_t d = 0; d < tree_.depth(); ++d) sum += tree_.gain[d] * weight_of_node_[node_at(d, pe)];
    return sum;
  }

  int32_t best_neighbour(int32_t own, const Size& size, bool over) {
    for (int32_t pe : touched_)
      for (int64_t d = 0; d < tree_.depth(); ++d) weight_of_node_[node_at(d, pe)] += weight_of_pe_[pe];
    int32_t best = own;
    int64_t most = over ? -1 : saved(own);
    for (int32_t pe : touched_) {
      if (pe == own || room(leaf(pe), size.kind) < size.load) continue;
      const int64_t here = saved(pe);
      const bool equal = here == most && roomier(pe, best, own, size);
      if (here > most || equal) {
        best = pe;
        most = here;
      }
    }
    for (int32_t pe : touched_)
      for (int64_t d = 0; d < tree_.depth(); ++d) weight_of_node_[node_at(d, pe)] = 0;
    if (over && best == own) {
      const int32_t other = most_room(size);
      if (room(leaf(other), size.kind) >= size.load) best = other;
    }
    return best;
  }

  // Whether a PE will have more room with the vertex than the best one so far.
  bool roomier(int32_t pe, int32_t best, int32_t own, const Size& size) const {
    const int64_t there = room(leaf(best), size.kind) - (best == own ? 0 : size.load);
    return room(leaf(pe), size.kind) - size.load > there;
  }

  const StreamTree tree_;
  const StreamState state_;
  std::vector<int64_t> weight_of_pe_, weight_of_node_;
  std::vector<int32_t> touched_, inside_;
};

}  // namespace hopbytes
