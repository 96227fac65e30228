#include "partition/deep_multisection.hpp"

#include "partition/bundles.hpp"
#include "partition/coarsening/coarsen.hpp"
#include "partition/group_members.hpp"
#include "partition/groups.hpp"
#include "partition/initial/by_degree.hpp"
#include "partition/refinement/flow_refinement.hpp"
#include "partition/refinement/local_fm.hpp"
#include "partition/refinement/rebalance.hpp"
#include "partition/refinement/synchronous_refinement.hpp"
#include "partition/score.hpp"
#include "util/memory.hpp"

namespace hopbytes {

namespace {

// Whether nearly all vertices have about six neighbours, as in the boxes that programs in space decompose.
// The least cuts of a box are planes, which are visible on fine graphs only. In plane lattices, and where
// diagonal neighbours count as well, that hardly matters.
bool may_be_box(const GraphShape& g) {
  constexpr int64_t fewest = 5, most = 8;  // neighbours
  return g.arcs() > fewest * g.n && g.arcs() < most * g.n && is_lattice_like(g);
}

template <class W> class DeepMultisection {
 public:
  DeepMultisection(const Graph<W>& g, const std::vector<MachineLevel>& levels, const DeepContext& context,
                   uint64_t seed, const Control& control)
      : g_(g),
        levels_(levels),
        context_(context),
        seed_(seed),
        control_(control),
        rng_(seed),
        per_child_(may_be_box(g) ? std::max(context.per_child, context.per_child_of_box)
                                 : context.per_child) {}

  std::vector<int32_t> run() {
    Hierarchy<W> hierarchy = context_.anew ? Hierarchy<W>(g_) : coarsened();
    set_leaf_bounds(hierarchy.coarsest());
    bounds_.assign(1, g_.total_load);
    start(hierarchy.coarsest(), std::vector<int32_t>(hierarchy.coarsest().n, 0));
    for (size_t i = hierarchy.size() + 1; i-- > 0;) {
      const Graph<W>& g = hierarchy.graph(i);
      if (i < hierarchy.size()) {
        std::unique_ptr<Graph<W>> finer = on_children(g);
        partition_->project(*finer, hierarchy.map(i));
        shown_ = std::move(finer);
        hierarchy.remove_coarsest();
        release_freed_memory(g.arcs());
        set_leaf_bounds(g);
        refine();
      }
      while (depth_ < levels_.size() && (i == 0 || g.n >= per_child_ * levels_[depth_].children())) {
        divide(g);
        refine();
      }
    }
    return around_core_if_cheaper(partition_->take_blocks());
  }

 private:
  // What a group may exceed its fair load by on graphs whose vertices are heavy: the load of some vertices,
  // and at most this part.
  static constexpr double kLoose = 0.03;
  static constexpr double kVertices = 2;

  void set_leaf_bounds(const Graph<W>& g) {
    leaf_bounds_.resize(levels_.size());
    for (size_t i = 0; i < levels_.size(); ++i) {
      const MachineLevel& level = levels_[i];
      leaf_bounds_[i] = level.leaf_bound;
      const auto whole =
          static_cast<double>(std::accumulate(level.share.begin(), level.share.end(), int64_t{0}));
      for (size_t c = 0; &g != &g_ && c < level.share.size(); ++c) {
        const double load = static_cast<double>(g.total_load);
        const double fair = load * (static_cast<double>(level.share[c]) / whole);
        const double loose = fair + std::min(kLoose * fair, kVertices * load / static_cast<double>(g.n));
        leaf_bounds_[i][c] = std::max(leaf_bounds_[i][c], static_cast<int64_t>(loose));
      }
      for (size_t c = 0; i + 1 == depth_ && c < bounds_.size(); ++c)
        bounds_[c] = std::min(bounds_[c], leaf_bounds_[i][c]);
    }
  }

  // Coarsening mixes the vertices of a core with their many neighbours, and no search separates them again.
  // So a mapping whose first PEs hold the vertices of the highest degrees competes with the one found.
  std::vector<int32_t> around_core_if_cheaper(std::vector<int32_t> found) {
    if (context_.anew || g_.linear_cost || control_.should_stop() || !may_have_core(g_)) return found;
    partition_->assign(g_, blocks_by_degree(g_, fair_sizes(levels_.back().leaf_bound, g_.total_load)));
    refine();
    control_.record_work(3 * g_.arcs());
    const AnyDistance& distance = partition_->distance();
    std::vector<int32_t> other = partition_->take_blocks();
    const auto cost = [&](const std::vector<int32_t>& leaf) {
      return placement_cost(g_, leaf.data(), distance);
    };
    return cost(other) < cost(found) ? other : found;
  }

  Hierarchy<W> coarsened() {
    const MachineLevel& outermost = levels_.front();
    const std::vector<int64_t>& bounds = levels_.back().leaf_bound;
    const int64_t target = std::max(context_.fewest, per_child_ * outermost.children());
    CoarseningContext limits = coarsening_limits(g_, target, *std::min_element(bounds.begin(), bounds.end()));
    limits.heaviest_edges_first = g_.uneven;
    for (const MachineLevel& level : levels_) limits.sizes.push_back(per_child_ * level.children());
    return coarsen(g_, nullptr, limits, rng_, control_);
  }

  // Returns the child of a level to which each vertex is fixed, -1 if it is free; nothing if all are free.
  std::vector<int32_t> homes(const Graph<W>& g, const MachineLevel& level) const {
    std::vector<int32_t> home(g.linear_cost ? g.n : 0, -1);
    for (size_t v = 0; v < home.size(); ++v)
      if (g.linear_cost->kind[v] != 0) home[v] = level.child_of_pe[g.linear_cost->listed(v).front()];
    return home;
  }

  // Returns the graph with its vertices fixed to groups at the present depth in place of PEs.
  std::unique_ptr<Graph<W>> on_children(const Graph<W>& g) const {
    return with_fixed(g, depth_ == 0 ? std::vector<int32_t>() : homes(g, levels_[depth_ - 1]));
  }

  // Begins to refine a mapping to the groups at the present depth, which may hold bounds_.
  void start(const Graph<W>& g, std::vector<int32_t> group) {
    const AnyDistance distance = depth_ == 0 ? AnyDistance() : levels_[depth_ - 1].distance.distance();
    partition_ = std::make_unique<Partition<W>>(distance, bounds_, control_.team());
    shown_ = on_children(g);
    partition_->assign(*shown_, std::move(group));
  }

  void divide(const Graph<W>& g) {
    const MachineLevel& level = levels_[depth_];
    std::vector<int32_t> group = partition_->take_blocks();
    group_loads_ = block_loads(g, level.groups(), group.data(), control_.team());
    bounds_ = level.max_loads(group_loads_, leaf_bounds_[depth_]);
    const std::vector<int32_t> home = homes(g, level);
    std::vector<int32_t> inside = home;  // numbered from the first child of the group on
    std::vector<int64_t> held(level.children(), 0);
    for (size_t v = 0; v < home.size(); ++v) {
      if (home[v] < 0) continue;
      inside[v] -= static_cast<int32_t>(level.first_child[group[v]]);
      bounds_[home[v]] = std::max(bounds_[home[v]], held[home[v]] += g.load[v]);
    }
    std::vector<uint64_t> seeds(level.groups());
    for (int64_t i = 0; i < level.groups(); ++i) seeds[i] = derive(derive(seed_, 1 + depth_), i);
    GroupSettings settings;
    settings.context.initial = context_.initial;
    settings.context.refinement = context_.refinement;
    if (!context_.anew || depth_ > 0) settings.context.refinement.flow.rounds = 0;
    if (g.linear_cost) {  // which cut is good depends much on what is fixed
      settings.context.initial = DeepContext::kMoreInitial;
      settings.context.refinement = DeepContext::kMoreRefinement;
    } else if (!context_.anew) {
      // All groups are refined together afterwards, so that little is gained by more here.
      settings.context.refinement.fm.rounds = 1;
    } else if (depth_ > 0) {
      InitialContext& initial = settings.context.initial;
      initial.partitions /= 2, initial.growing_repetitions /= 2, initial.recombinations = 0;
    }
    std::vector<int32_t> child(g.n);
    std::vector<int64_t> cut(level.groups());
    partition_many<W>(*with_fixed(g, inside), group, level.first_child, bounds_, seeds, {}, settings,
                      control_, child, cut);
    parallel_ranges(g.n, kVerticesPerRange, control_.team(), [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v)
        child[v] = !home.empty() && home[v] >= 0
                       ? home[v]
                       : child[v] + static_cast<int32_t>(level.first_child[group[v]]);
    });
    ++depth_;
    start(g, std::move(child));
  }

  void refine() {
    if (depth_ == 0 || context_.anew) return;
    const bool few_blocks = levels_[depth_ - 1].children() <= Connectivity<W>::kFewBlocks;
    RefinerChain<W> chain;
    chain.add(std::make_unique<Rebalance<W>>());
    if (!few_blocks && context_.rounds > 0)
      chain.add(std::make_unique<SynchronousRefinement<W>>(context_.rounds));
    if (few_blocks) chain.add(std::make_unique<LocalFm<W>>(context_.refinement.fm));
    if (context_.refinement.flow.rounds > 0)
      chain.add(std::make_unique<FlowRefinement<W>>(context_.refinement.flow));
    chain.refine(*partition_, rng_, control_);
  }

  const Graph<W>& g_;
  const std::vector<MachineLevel>& levels_;
  const DeepContext& context_;
  uint64_t seed_;
  const Control& control_;
  Rng rng_;
  const int64_t per_child_;
  size_t depth_ = 0;  // levels of the machine that have been divided
  std::vector<std::vector<int64_t>> leaf_bounds_;  // of every level, on the present graph
  std::vector<int64_t> group_loads_, bounds_;
  std::unique_ptr<Graph<W>> shown_;  // what the partition refers to
  std::unique_ptr<Partition<W>> partition_;
};

}  // namespace

template <class W>
void deep_multisection(const Graph<W>& g, const std::vector<MachineLevel>& levels, const DeepContext& context,
                       uint64_t seed, const Control& control, std::span<int32_t> pe) {
  const std::vector<int32_t> leaf = DeepMultisection<W>(g, levels, context, seed, control).run();
  const std::vector<int32_t>& leaf_of_pe = levels.back().child_of_pe;
  std::vector<int32_t> pe_of_leaf(leaf_of_pe.size());
  for (size_t i = 0; i < leaf_of_pe.size(); ++i) pe_of_leaf[leaf_of_pe[i]] = static_cast<int32_t>(i);
  parallel_ranges(g.n, kVerticesPerRange, control.team(), [&](int32_t, int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) pe[v] = pe_of_leaf[leaf[v]];
  });
}

template void deep_multisection(const Graph<int32_t>&, const std::vector<MachineLevel>&, const DeepContext&,
                                uint64_t, const Control&, std::span<int32_t>);
template void deep_multisection(const Graph<int64_t>&, const std::vector<MachineLevel>&, const DeepContext&,
                                uint64_t, const Control&, std::span<int32_t>);

}  // namespace hopbytes
