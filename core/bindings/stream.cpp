// Binds stream_tree.hpp, stream_check.hpp and stream_sketch.hpp.
#include "arrays.hpp"
#include "checked.hpp"
#include "streaming/stream_check.hpp"
#include "streaming/stream_sketch.hpp"
#include "streaming/stream_tree.hpp"

namespace hopbytes {

inline auto fields(StreamBlock& r) { return std::tie(r.first, r.indptr, r.target, r.weight, r.load); }
inline auto fields(StreamTree& r) { return std::tie(r.first_child, r.path, r.pe_of_leaf, r.cap, r.gain); }
inline auto fields(StreamState& r) { return std::tie(r.pe, r.load, r.tasks, r.empty, r.counter); }
inline auto fields(StreamSketch& r) { return std::tie(r.cluster, r.weight, r.key, r.value, r.pairs); }

}  // namespace hopbytes

using namespace hopbytes;

namespace {

// Throws unless these are rows of a graph with n vertices; targets may be wrong.
void expect_block(const StreamBlock& block, int64_t n) {
  expect_offsets(block.indptr, block.target.size(), "arrays of a block");
  expect(block.first >= 0 && block.rows() <= n - block.first &&
             (block.weight.empty() || block.weight.size() == block.target.size()) &&
             (block.load.empty() || std::ssize(block.load) == block.rows()),
         "arrays of a block");
}

// The same for targets, too, and for the numbers that the vertices of the block and their targets have.
void expect_numbers(const StreamBlock& block, In<int32_t> number, int64_t lowest, int64_t count,
                    const char* what) {
  expect_block(block, std::ssize(number));
  expect_below(block.target, std::ssize(number), "targets");
  expect_below(number.subspan(block.first, block.rows()), count, what, Team::alone(), lowest);
  bool wrong = false;
  for (const int32_t v : block.target) wrong |= number[v] < lowest || number[v] >= count;
  if (wrong) throw std::invalid_argument(std::string(what) + " outside their range");
}

void expect_tree(const StreamTree& tree) {
  const int64_t nodes = tree.nodes(), k = tree.k();
  expect(k > 0 && nodes > k && std::ssize(tree.cap) == 2 * nodes && std::ssize(tree.path) == tree.depth() * k,
         "arrays of a tree");
  expect_below(tree.first_child, nodes + 1, "nodes");
  expect_below(tree.path, nodes, "nodes");
  expect_below(tree.pe_of_leaf, k, "PEs");
}

StreamMapper mapper(const StreamBlock& block, const StreamTree& tree, const StreamState& state) {
  expect_tree(tree);
  expect(state.load.size() == tree.cap.size() && std::ssize(state.empty) == tree.nodes() &&
             std::ssize(state.tasks) == tree.k() && state.counter.size() == kStreamCounters,
         "a state and a tree");
  expect_numbers(block, state.pe, -1, tree.k(), "PEs");
  return {tree, state};
}

void expect_sketch(const StreamSketch& sketch) {
  const bool power_of_two = (sketch.key.size() & (sketch.key.size() - 1)) == 0;
  expect(sketch.key.size() == sketch.value.size() && sketch.key.size() >= 16 && power_of_two &&
             sketch.pairs.size() == 1 && sketch.weight.size() == sketch.cluster.size(),
         "arrays of a sketch");
}

}  // namespace

void bind_stream(nb::module_& m) {
  define(m, "stream_check", [](const StreamBlock& block, int64_t n, Out<uint64_t> sums) {
    expect(sums.size() == 4, "sums");
    expect_block(block, n);
    return stream_check(block, n, sums);
  });
  define(m, "stream_assign",
         [](const StreamBlock& block, const StreamTree& tree, const StreamState& state, In<double> penalty) {
           expect(penalty.size() == tree.cap.size(), "penalties of a tree");
           mapper(block, tree, state).assign(block, penalty);
         });
  define(m, "stream_refine", [](const StreamBlock& block, const StreamTree& tree, const StreamState& state) {
    mapper(block, tree, state).refine(block);
  });
  define(m, "stream_cluster",
         [](const StreamBlock& block, StreamSketch sketch, int64_t heaviest, int64_t row) {
           expect_sketch(sketch);
           expect_numbers(block, sketch.cluster, 0, std::ssize(sketch.cluster), "clusters");
           expect(row >= 0 && row <= block.rows(), "a row and a block");
           sketch.heaviest = heaviest;
           return stream_cluster(block, sketch, row);
         });
  define(m, "stream_pairs", [](const StreamSketch& sketch, In<int32_t> a, In<int32_t> b, In<int64_t> w) {
    expect_sketch(sketch);
    expect(a.size() == b.size() && a.size() == w.size() &&
               std::ssize(a) <= usable_pairs(sketch) - sketch.pairs[0],
           "pairs");
    stream_pairs(sketch, a, b, w);
  });
}
