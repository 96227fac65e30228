// Binds stream_tree.hpp, stream_check.hpp and stream_sketch.hpp.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"
#include "released_lock.hpp"
#include "streaming/stream_check.hpp"
#include "streaming/stream_sketch.hpp"
#include "streaming/stream_tree.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;
using Release = nb::call_guard<ReleasedLock>;

namespace {

// First vertex, row pointers, targets, weights, loads.
using BlockArrays =
    std::tuple<int64_t, InArray<int64_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
// First children, paths, PEs of leaves, largest loads, gains.
using TreeArrays =
    std::tuple<InArray<int32_t>, InArray<int32_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
// PEs of vertices, loads of nodes, vertices of PEs, empty PEs of nodes, counters.
using StateArrays =
    std::tuple<OutArray<int32_t>, OutArray<int64_t>, OutArray<int64_t>, OutArray<int64_t>, OutArray<int64_t>>;

// Clusters of vertices, loads of clusters, keys and values of pairs, number of pairs.
using SketchArrays = std::tuple<OutArray<int32_t>, OutArray<int64_t>, OutArray<uint64_t>, OutArray<int64_t>,
                                OutArray<int64_t>>;

StreamSketch sketch_of(const SketchArrays& arrays, int64_t heaviest) {
  const auto& [cluster, weight, key, value, pairs] = arrays;
  const bool power_of_two = (key.size() & (key.size() - 1)) == 0;
  if (key.size() != value.size() || key.size() < 16 || !power_of_two || pairs.size() != 1 ||
      weight.size() != cluster.size())
    throw nb::value_error("a sketch whose arrays do not fit together");
  return {out(cluster), out(weight), out(key), out(value), out(pairs), heaviest};
}

StreamBlock block_of(const BlockArrays& arrays, int64_t n) {
  const auto& [first, indptr, target, weight, load] = arrays;
  const StreamBlock block{first, in(indptr), in(target), in(weight), in(load)};
  const bool fits = indptr.size() > 0 && first >= 0 && first + block.rows() <= n && block.indptr[0] == 0 &&
                    block.indptr[block.rows()] == static_cast<int64_t>(target.size()) &&
                    (weight.size() == 0 || weight.size() == target.size()) &&
                    (load.size() == 0 || static_cast<int64_t>(load.size()) == block.rows());
  if (!fits) throw nb::value_error("a block whose arrays do not fit together");
  return block;
}

StreamTree tree_of(const TreeArrays& arrays) {
  const auto& [first_child, path, pe_of_leaf, cap, gain] = arrays;
  const StreamTree tree{in(first_child), in(path), in(pe_of_leaf),
                        in(cap),         in(gain), static_cast<int64_t>(pe_of_leaf.size())};
  if (cap.size() != 2 * static_cast<size_t>(tree.nodes()) || path.size() != gain.size() * pe_of_leaf.size())
    throw nb::value_error("a tree whose arrays do not fit together");
  return tree;
}

StreamState state_of(const StateArrays& arrays, const StreamTree& tree) {
  const auto& [pe, load, tasks, empty, counter] = arrays;
  if (load.size() != tree.cap.size() || static_cast<int64_t>(empty.size()) != tree.nodes() ||
      static_cast<int64_t>(tasks.size()) != tree.k || counter.size() != kStreamCounters)
    throw nb::value_error("a state that does not fit its tree");
  return {out(pe), out(load), out(tasks), out(empty), out(counter)};
}

}  // namespace

void bind_stream(nb::module_& m) {
  m.def(
      "stream_check",
      [](const BlockArrays& block, int64_t n, OutArray<uint64_t> sums) {
        if (sums.size() != 4) throw nb::value_error("sums of the wrong length");
        return stream_check(block_of(block, n), n, out(sums));
      },
      "block"_a, "n"_a, "sums"_a.noconvert(), Release());
  m.def(
      "stream_assign",
      [](const BlockArrays& block, const TreeArrays& arrays, const StateArrays& kept,
         InArray<double> penalty) {
        const StreamTree tree = tree_of(arrays);
        const StreamState state = state_of(kept, tree);
        if (penalty.size() != tree.cap.size()) throw nb::value_error("penalties that do not fit the tree");
        StreamMapper(tree, state).assign(block_of(block, static_cast<int64_t>(state.pe.size())), in(penalty));
      },
      "block"_a, "tree"_a, "state"_a, "penalty"_a.noconvert(), Release());
  m.def(
      "stream_refine",
      [](const BlockArrays& block, const TreeArrays& arrays, const StateArrays& kept) {
        const StreamTree tree = tree_of(arrays);
        const StreamState state = state_of(kept, tree);
        StreamMapper(tree, state).refine(block_of(block, static_cast<int64_t>(state.pe.size())));
      },
      "block"_a, "tree"_a, "state"_a, Release());
  m.def(
      "stream_cluster",
      [](const BlockArrays& block, const SketchArrays& arrays, int64_t heaviest, int64_t row) {
        const StreamSketch sketch = sketch_of(arrays, heaviest);
        const StreamBlock rows = block_of(block, static_cast<int64_t>(sketch.cluster.size()));
        if (row < 0 || row > rows.rows()) throw nb::value_error("a row outside the block");
        return stream_cluster(rows, sketch, row);
      },
      "block"_a, "sketch"_a, "heaviest"_a, "row"_a, Release());
  m.def(
      "stream_pairs",
      [](const SketchArrays& arrays, InArray<int32_t> a, InArray<int32_t> b, InArray<int64_t> w) {
        const StreamSketch sketch = sketch_of(arrays, 0);
        const int64_t free = usable_pairs(sketch) - sketch.pairs[0];
        if (a.size() != b.size() || a.size() != w.size() || static_cast<int64_t>(a.size()) > free)
          throw nb::value_error("pairs that do not fit");
        stream_pairs(sketch, in(a), in(b), in(w));
      },
      "sketch"_a, "a"_a.noconvert(), "b"_a.noconvert(), "w"_a.noconvert(), Release());
}
