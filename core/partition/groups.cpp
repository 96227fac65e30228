#include "partition/groups.hpp"

#include <atomic>
#include <deque>
#include <limits>
#include <numeric>

#include "util/parallel.hpp"
#include "partition/candidate_rows.hpp"
#include "partition/exact_partitioner.hpp"
#include "partition/group_members.hpp"
#include "partition/initial/linear_assignment.hpp"
#include "partition/partitioner.hpp"
#include "partition/relaxation/relax.hpp"

namespace hopbytes {

namespace {

template <class W> class GroupPartitioner {
 public:
  GroupPartitioner(const Graph<W>& g, In<int32_t> group, In<int64_t> block_start,
                   In<int64_t> max_block_weight, In<uint64_t> seed, In<int32_t> candidates,
                   const GroupSettings& settings, Control control)
      : g_(g),
        group_(group),
        block_start_(block_start),
        max_block_weight_(max_block_weight),
        seed_(seed),
        candidates_{candidates, group.size()},
        settings_(settings),
        control_(control),
        repetitions_(std::max(1, settings.repetitions)),
        members_(group, static_cast<int64_t>(block_start.size()) - 1),
        pool_(block_start.size() - 1),
        spans_(control, std::ssize(pool_)) {}

  // With few groups it extracts all of them and distributes repetitions and recombinations over the threads.
  // With many groups a thread solves a group completely, so that only the groups being solved are in memory.
  void solve(Out<int32_t> child, Out<int64_t> cut) {
    const int64_t groups = static_cast<int64_t>(pool_.size());
    if (groups / 2 >= settings_.threads) {
      parallel_for(groups, settings_.threads, [&](int64_t i) {
        extract(i);
        repeat_on_all_hierarchies(i);
        collect(i);
        tournament({i}, 1);
        finish(i, child, cut);
      });
      return;
    }
    parallel_for(groups, settings_.threads, [&](int64_t i) { extract(i); });
    int64_t searches = 0;
    for (const Pool& pool : pool_) searches += pool.hierarchies.count();
    repeat_where_shapes_relax(groups);
    const Control share = control_.with_threads(settings_.threads).shared_by(searches);
    std::deque<SideBySide> spans;  // of the repetitions, for each group
    for (int64_t i = 0; i < groups; ++i) spans.emplace_back(spans_.of(i, control_), repetitions_);
    parallel_for(groups * repetitions_, settings_.threads, [&](int64_t job) {
      const int64_t i = job / repetitions_, hierarchy = job % repetitions_;
      if (hierarchy > 0 || !relaxes(i)) repeat_on_hierarchy(i, hierarchy, spans[i].of(hierarchy, share));
    });
    std::vector<int64_t> all(groups);
    std::iota(all.begin(), all.end(), 0);
    for (int64_t i : all) collect(i);
    tournament(all, settings_.threads);
    parallel_for(groups, settings_.threads, [&](int64_t i) { finish(i, child, cut); });
  }

 private:
  struct Pool {  // the partitions of one group
    Graph<W> sub;
    std::vector<Candidate> members;
    HierarchySharing hierarchies;  // of the repetitions
    int32_t recombinations = 0;  // recombinations made so far
    bool relaxation_helps = false;
  };
  struct Match {
    int64_t group;
    size_t better, other;
    uint64_t seed;
  };

  const Graph<W>& graph(int64_t i) const { return pool_.size() == 1 ? g_ : pool_[i].sub; }
  std::span<const int64_t> max_block_weights(int64_t i) const {
    return max_block_weight_.subspan(block_start_[i], block_start_[i + 1] - block_start_[i]);
  }
  bool trivial(int64_t i) const { return max_block_weights(i).size() < 2 || members_.of(i).empty(); }
  // Exact sizes need another partitioner; only this function decides about that.
  bool exact(int64_t i) const {
    return !graph(i).linear_cost && ExactPartitioner<W>::suits(graph(i), max_block_weights(i));
  }

  // Returns whether the blocks are exact and too many to be recombined. Of several repetitions one would be
  // kept and the others discarded, so the repetitions are spent on every bisection instead.
  bool too_many_to_recombine(int64_t i) const {
    return settings_.repetitions > 1 &&
           static_cast<int64_t>(max_block_weights(i).size()) > ExactPartitioner<W>::kMostBlocks && exact(i);
  }

  // Calls `work` with the partitioner for group i, which relaxes shapes or does not.
  template <class Work>
  Score with_partitioner(int64_t i, bool relaxing, const Control& control, Work work) const {
    Context context = settings_.context;
    if (!relaxing) context.relaxation.rounds = 0;
    if (!exact(i)) return work(Partitioner<W>(max_block_weights(i), context, control));
    int32_t per_bisection = settings_.bisection_repetitions;
    if (too_many_to_recombine(i)) {
      const int32_t one_more = std::min(per_bisection, std::numeric_limits<int32_t>::max() - 1) + 1;
      per_bisection = std::max(one_more, settings_.repetitions);
    }
    ExactContext how{std::max(1, settings_.context.initial.partitions), per_bisection, per_bisection - 1};
    how.annealing = settings_.context.annealing;
    return work(ExactPartitioner<W>(max_block_weights(i), how, control));
  }

  // Returns the number of recombinations left for whole partitions; the others were made where repetitions
  // shared a hierarchy.
  int64_t recombinations(int64_t i) const {
    const HierarchySharing& made = pool_[i].hierarchies;
    return settings_.recombinations * made.repetitions / repetitions_ - (made.repetitions - made.count());
  }

  void extract(int64_t i) {
    Pool& pool = pool_[i];
    if (pool_.size() > 1) pool.sub = subproblem(g_, members_, group_, static_cast<int32_t>(i));
    plan_repetitions(i, repetitions_);
    pool.members.resize(pool.hierarchies.count());
  }

  void plan_repetitions(int64_t i, int64_t repetitions) {
    pool_[i].hierarchies = {repetitions};
    if (settings_.recombinations > 0 && !trivial(i) && !exact(i))
      pool_[i].hierarchies = Partitioner<W>(max_block_weights(i), settings_.context, control_)
                                 .hierarchies(graph(i), repetitions);
  }

  // Whether the shapes of the blocks are relaxed in the first repetition. If that helps, they are in the
  // others too, and a third of the repetitions suffices; else the others do without.
  bool relaxes(int64_t i) const {
    return !trivial(i) && !exact(i) &&
           suits_relaxation(graph(i), std::ssize(max_block_weights(i)), settings_.context.relaxation);
  }

  // The other repetitions of these groups depend on the first ones.
  void repeat_where_shapes_relax(int64_t groups) {
    std::vector<int64_t> relaxed;
    for (int64_t i = 0; i < groups; ++i)
      if (relaxes(i)) relaxed.push_back(i);
    const Control share = control_.with_threads(settings_.threads).shared_by(std::ssize(relaxed));
    parallel_for(std::ssize(relaxed), settings_.threads,
                 [&](int64_t j) { repeat_on_hierarchy(relaxed[j], 0, spans_.of(relaxed[j], share)); });
  }

  // One thread makes in turn what several would do side by side.
  void repeat_on_all_hierarchies(int64_t i) {
    const Control control = spans_.of(i, control_);
    const int64_t first = relaxes(i) ? 1 : 0;
    if (first > 0) repeat_on_hierarchy(i, 0, control);
    SideBySide spans(control, pool_[i].hierarchies.count());
    for (int64_t hierarchy = first; hierarchy < pool_[i].hierarchies.count(); ++hierarchy)
      repeat_on_hierarchy(i, hierarchy, spans.of(hierarchy, control_));
  }

  // Makes the repetitions that use one hierarchy.
  void repeat_on_hierarchy(int64_t i, int64_t hierarchy, const Control& control) {
    if (trivial(i) || (hierarchy > 0 && (control_.should_stop() || too_many_to_recombine(i))) ||
        (settings_.repetitions < 1 && candidates_.any(members_.of(i)[0])))
      return;
    const HierarchySharing& hierarchies = pool_[i].hierarchies;
    if (hierarchy >= hierarchies.count()) return;
    Candidate& member = pool_[i].members[hierarchy];
    const uint64_t seed = derive(seed_[i], hierarchy);
    const int64_t first = hierarchies.first(hierarchy), count = hierarchies.first(hierarchy + 1) - first;
    bool helped = false;
    const bool relaxing = hierarchy == 0 || pool_[i].relaxation_helps;
    member.score = with_partitioner(i, relaxing, control, [&](auto&& partitioner) {
      if constexpr (requires { partitioner.relaxation_helped(); }) {
        const Score found = partitioner.repeat(graph(i), member.part, seed, first, count);
        helped = partitioner.relaxation_helped();
        return found;
      } else {
        return partitioner.partition(graph(i), member.part, seed);
      }
    });
    if (hierarchy > 0 || !helped) return;
    pool_[i].relaxation_helps = true;
    plan_repetitions(i, (repetitions_ + 2) / 3);
  }

  // Collects the results of the repetitions and the candidates, the best first.
  void collect(int64_t i) {
    if (trivial(i)) return;
    std::vector<Candidate>& members = pool_[i].members;
    std::erase_if(members, [](const Candidate& member) { return member.part.empty(); });
    const auto vertices = members_.of(i);
    for (size_t c = 0; c < candidates_.count(); ++c) {
      const int32_t* row = candidates_.row(c, vertices[0]);
      if (!row) continue;
      std::vector<int32_t> given(vertices.size());
      for (size_t v = 0; v < vertices.size(); ++v) given[v] = row[vertices[v]];
      if (graph(i).linear_cost) assign_linear_costs(graph(i), max_block_weights(i), given.data());
      const Score own = score(graph(i), given.data(), max_block_weights(i));
      members.push_back({own, std::move(given)});
    }
    best_first(members);
    members.resize(std::min<size_t>(members.size(), 1 + std::max<int64_t>(0, recombinations(i))));
  }

  // Tournament recombination: in every round each member of the better half of a pool is recombined with one
  // of the other half, side by side, until one partition is left; the remaining recombinations become
  // V-cycles on it. Pairing partitions of similar quality preserves more good parts than recombining one
  // partition with all others in turn.
  void tournament(const std::vector<int64_t>& groups, int32_t threads) {
    for (std::vector<Match> round; !(round = matches(groups)).empty() && !control_.should_stop();) {
      const Control share = control_.with_threads(threads).shared_by(std::ssize(round));
      std::vector<int64_t> spans(round.size(), 0);
      parallel_for(std::ssize(round), threads,
                   [&](int64_t m) { recombine_match(round[m], share.with_span(&spans[m])); });
      for (size_t m = 0, end = 0; m < round.size(); m = end) {
        while (end < round.size() && round[end].group == round[m].group) ++end;
        spans_.of(round[m].group, control_)
            .record_span(*std::max_element(spans.begin() + m, spans.begin() + end));
      }
      for (int64_t i : groups) {
        std::vector<Candidate>& members = pool_[i].members;
        members.resize((members.size() + 1) / 2);
        best_first(members);
      }
    }
  }

  std::vector<Match> matches(const std::vector<int64_t>& groups) {
    std::vector<Match> round;
    for (int64_t i : groups) {
      Pool& pool = pool_[i];
      if (trivial(i)) continue;
      const size_t half = (pool.members.size() + 1) / 2;
      for (size_t m = half; m < pool.members.size(); ++m)
        round.push_back({i, m - half, m, derive(seed_[i], 1000 + pool.recombinations++)});
      if (pool.members.size() == 1 && pool.recombinations < recombinations(i))
        round.push_back({i, 0, 1, derive(seed_[i], 1000 + pool.recombinations++)});
    }
    return round;
  }

  void recombine_match(const Match& match, const Control& control) {
    std::vector<Candidate>& members = pool_[match.group].members;
    Candidate& better = members[match.better];
    const int32_t* other = match.other < members.size() ? members[match.other].part.data() : nullptr;
    better.score = with_partitioner(match.group, false, control, [&](auto&& partitioner) {
      return partitioner.recombine(graph(match.group), better.part, other, match.seed);
    });
  }

  void anneal(int64_t i) {
    Candidate& best = pool_[i].members[0];
    best.score = with_partitioner(i, false, spans_.of(i, control_), [&](auto&& partitioner) {
      return partitioner.anneal(graph(i), best.part, best.score, derive(seed_[i], 999));
    });
  }

  void finish(int64_t i, Out<int32_t> child, Out<int64_t> cut) {
    const auto vertices = members_.of(i);
    Pool& pool = pool_[i];
    if (!trivial(i)) anneal(i);
    cut[i] = trivial(i) ? 0 : pool.members[0].score.cut;
    for (size_t v = 0; v < vertices.size(); ++v)
      child[vertices[v]] = trivial(i) ? 0 : pool.members[0].part[v];
    pool = Pool();
    if (settings_.finished)
      std::atomic_ref<int32_t>(*settings_.finished).fetch_add(1, std::memory_order_relaxed);
  }

  const Graph<W>& g_;
  In<int32_t> group_;
  In<int64_t> block_start_, max_block_weight_;
  In<uint64_t> seed_;
  CandidateRows candidates_;
  GroupSettings settings_;
  Control control_;
  int64_t repetitions_;
  GroupMembers members_;
  std::vector<Pool> pool_;
  SideBySide spans_;  // of the groups
};

}  // namespace

template <class W>
void partition_many(const Graph<W>& g, In<int32_t> group, In<int64_t> block_start,
                    In<int64_t> max_block_weight, In<uint64_t> seed, In<int32_t> candidates,
                    const GroupSettings& settings, Control control, Out<int32_t> child, Out<int64_t> cut) {
  GroupPartitioner<W>(g, group, block_start, max_block_weight, seed, candidates, settings, control)
      .solve(child, cut);
}

template void partition_many(const Graph<int32_t>&, In<int32_t>, In<int64_t>, In<int64_t>, In<uint64_t>,
                             In<int32_t>, const GroupSettings&, Control, Out<int32_t>, Out<int64_t>);
template void partition_many(const Graph<int64_t>&, In<int32_t>, In<int64_t>, In<int64_t>, In<uint64_t>,
                             In<int32_t>, const GroupSettings&, Control, Out<int32_t>, Out<int64_t>);

}  // namespace hopbytes
