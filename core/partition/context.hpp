// The settings of multilevel partitioning, one struct per stage. Python's presets choose the values by name
// (bindings/engine.cpp); what has no name there keeps the value given here.
#pragma once
#include <cstdint>
#include <vector>

namespace hopbytes {

// When coarsening ends; computed for each graph, see coarsening_limits() in coarsening/coarsen.hpp.
struct CoarseningContext {
  int64_t target = 2;                // number of vertices at which it ends
  int64_t max_cluster = 1;           // largest load of a cluster
  bool heaviest_edges_first = false;  // the order of clustering, for uneven weights
  std::vector<int64_t> sizes = {};  // numbers of vertices that some of the graphs should have
};

// Clustering by several threads, see coarsening/synchronous_clustering.hpp.
struct SynchronousContext {
  int64_t max_cluster = 1;  // largest load of a cluster of several vertices
  int64_t fewest = 1;  // the search ends when about so many clusters are left
  int64_t local_range = 1 << 14;  // consecutive vertices that are clustered among themselves first
  uint64_t seed = 0;
  const int32_t* community = nullptr;  // only equal ones are clustered together; null: all may be
};

struct InitialContext {
  int32_t partitions = 1;         // compared at the contraction limit
  int32_t contraction_limit = 0;  // vertices of the graph on which they are compared
  int32_t coarsest = 1;           // vertices per block of the graph on which bisections are grown
  int32_t growing_repetitions = 1;  // grown bisections per initial bisection
  int32_t recombinations = 0;       // recombinations of the initial partitions
  bool around_fixed = false;        // whether every other partition grows around fixed vertices
};

// Localised FM, see refinement/local_fm.hpp.
struct FmContext {
  int32_t rounds = 3;
  int32_t fruitless_moves = 40;     // moves without a new best that end a search
  int32_t fruitless_searches = 20;  // consecutive searches without a gain that end a round
  int32_t seeds = 8;                // boundary vertices from which a search starts
  int64_t most_work = 32;           // scanned edges of one call, per arc and vertex of the graph
};

// Minimum cuts between pairs of blocks, see refinement/pair_flow.hpp.
struct FlowContext {
  int32_t rounds = 0;          // passes over the pairs of blocks that changed; 0 turns flow refinement off
  double width = 16;           // load of the region on each side, in units of the free room
  // Layers of the region on each side of the boundary. Better cuts that are farther away are found on coarser
  // graphs, where a layer is thicker; without a limit the work on large graphs was superlinear.
  int32_t layers = 8;
  int64_t max_region = 20000;  // vertices per side
  int64_t most_work = 200;  // scanned edges of one call, per arc and vertex of the graph
  // From so many vertices on, all pairs are cut at the same time, and long boundaries are divided into
  // regions of about so many boundary vertices.
  int64_t many_vertices = 1 << 13;
  int64_t boundary_of_region = 512;
};

// Which refiners run on every level is decided by refinement/chain.cpp.
struct RefinementContext {
  FmContext fm;
  int32_t overload_percent = 0;  // temporary overload of unconstrained FM; 0 turns it off
  FlowContext flow;
};

// Relaxation of the shapes of blocks, see relaxation/relax.hpp.
struct RelaxationContext {
  int32_t rounds = 0;  // of each partition from scratch; 0 turns it off
  int32_t coarsest = 30;  // vertices per block of the coarsest graph
  int32_t fewest_blocks = 16;
  int32_t fewest_vertices = 8;  // per block
};

// Annealing of the boundaries of many small blocks, see refinement/annealing.hpp. Temperatures and penalties
// are in units of the mean weight of an arc.
struct AnnealingContext {
  int32_t sweeps = 0;  // over all boundary vertices of the finest graph; 0 turns it off
  int32_t fewest_blocks = 16;
  int64_t fewest_vertices = 8, most_vertices = 2500;  // per block
  double hot = 0.25, hot_if_exact = 0.35, cold = 0.1;
  double soft = 0.3, hard = 1;  // for the square of the load above the maximum, first and last
};

struct Context {
  InitialContext initial;
  RelaxationContext relaxation;
  AnnealingContext annealing;
  RefinementContext refinement;
  // Coarsening hierarchies of a large graph that repetitions share, at least; 0: every repetition has its
  // own.
  int32_t hierarchies = 0;
};

// Partitions of many groups in one call, see groups.hpp.
struct GroupSettings {
  Context context;
  // independent repetitions per group, of which the best is kept; 0: one, and only for groups without a
  // candidate
  int32_t repetitions = 1;
  int32_t recombinations = 0;  // recombinations of the best partitions, then V-cycles
  int32_t bisection_repetitions = 1;  // repetitions of every bisection where sizes are exact
  int32_t* finished = nullptr;  // counts finished groups, for progress reports
};

// Partitions into blocks of exact sizes, see exact_partitioner.hpp.
struct ExactContext {
  int32_t initial_partitions = 4;  // initial partitions of the coarsest graph
  int32_t repetitions = 1;  // bisections per cut in two, each from its own coarsening; the best one is kept
  // recombinations of the best bisection with the others; V-cycles after a recursive bisection
  int32_t recombinations = 0;
  int32_t coarsest = 15;  // vertices per block of the coarsest graph
  int32_t rounds = 4;  // passes over the pairs of blocks on every level
  int32_t fruitless_moves = 25;  // moves without a new best that end a search, see TwoWayFm
  AnnealingContext annealing{};
};

}  // namespace hopbytes
