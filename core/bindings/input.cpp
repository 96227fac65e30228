// Binds io/ and streaming/: graphs that are read, and graphs that are mapped while they are read.
#include "arrays.hpp"
#include "io/parse_metis.hpp"
#include "io/parse_table.hpp"
#include "streaming/stream_sketch.hpp"

namespace hopbytes {

inline auto fields(StreamBlock& r) { return std::tie(r.first, r.indptr, r.target, r.weight, r.load); }
inline auto fields(StreamTree& r) { return std::tie(r.first_child, r.path, r.pe_of_leaf, r.cap, r.gain); }
inline auto fields(StreamState& r) { return std::tie(r.pe, r.load, r.tasks, r.empty, r.counter); }
inline auto fields(StreamSketch& r) { return std::tie(r.cluster, r.weight, r.key, r.value, r.pairs); }

}  // namespace hopbytes

using namespace hopbytes;

void bind_input(nb::module_& m) {
  define(m, "parse_metis", parse_metis);
  define(m, "parse_table", parse_table<int64_t>);
  define(m, "parse_real_table", parse_table<double>);
  define(m, "stream_check", stream_check);
  define(m, "stream_cluster", stream_cluster);
  define(m, "stream_pairs", stream_pairs);
  define(m, "stream_assign",
         [](const StreamBlock& block, const StreamTree& tree, const StreamState& state, In<double> penalty) {
           StreamMapper(tree, state).assign(block, penalty);
         });
  define(m, "stream_refine", [](const StreamBlock& block, const StreamTree& tree, const StreamState& state) {
    StreamMapper(tree, state).refine(block);
  });
}
