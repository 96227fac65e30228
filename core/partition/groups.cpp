#include "partition/groups.hpp"

#include "partition/initial/linear_assignment.hpp"
#include "partition/partitioner.hpp"

namespace hopbytes {

namespace {

// Partitions from other sources that compete with those of the engine: a row-major array of partitions of n
// vertices. A negative entry of the first vertex of a group means that the row has no partition of that
// group.
struct CandidateRows {
  std::span<const int32_t> entries;
  size_t n = 0;

  size_t count() const { return n == 0 ? 0 : entries.size() / n; }
  // Returns row c, null if it has no partition of the group.
  const int32_t* row(size_t c, int32_t first_vertex) const {
    const int32_t* found = entries.data() + c * n;
    return found[first_vertex] < 0 ? nullptr : found;
  }
  bool any(int32_t first_vertex) const {
    for (size_t c = 0; c < count(); ++c)
      if (row(c, first_vertex)) return true;
    return false;
  }
};

// What partition_many() was given, for all groups.
template <class W> struct GroupProblem {
  const Graph<W>& g;
  In<int32_t> group;
  In<int64_t> block_start, max_block_weight;
  In<uint64_t> seed;
  CandidateRows candidates;
  GroupSettings settings;
  Control control;
  GroupMembers members;

  int64_t groups() const { return std::ssize(block_start) - 1; }
  int64_t repetitions() const { return std::max(1, settings.repetitions); }
};

// The partitions of one group: made by repetitions or given, recombined until one is left.
template <class W> class GroupPool {
 public:
  GroupPool(const GroupProblem<W>& problem, int64_t number)
      : problem_(problem),
        settings_(problem.settings),
        number_(number),
        max_block_weights_(problem.max_block_weight.subspan(
            problem.block_start[number], problem.block_start[number + 1] - problem.block_start[number])),
        seed_(problem.seed[number]) {
    if (problem_.groups() > 1)
      sub_ = subproblem(problem_.g, problem_.members, problem_.group, static_cast<int32_t>(number_));
    plan_repetitions(problem_.repetitions());
    members_.resize(hierarchies_.hierarchies());
  }

  // Writes the best partition and returns the weight that it cuts.
  int64_t solve(const Control& control, Out<int32_t> child) {
    if (!trivial()) {
      repeat_all(control);
      collect();
      tournament(control);
    }
    return finish(control, child);
  }

 private:
  // Two members of the pool that are recombined; the second may be one that does not exist.
  struct Match {
    size_t better, other;
    uint64_t seed;
  };

  // If the first repetition relaxes the shapes of its blocks and that helps, the others do so, too, and a
  // third of them suffices; else they do without. So they begin after it.
  void repeat_all(const Control& control) {
    const bool relaxes =
        !exact() && suits_relaxation(graph(), std::ssize(max_block_weights_), settings_.context.relaxation);
    const int64_t first = relaxes ? 1 : 0;
    if (relaxes) repeat(0, control);
    const int64_t others = hierarchies_.hierarchies() - first;
    SideBySide spans(control, others);
    parallel_for(others, control.team(), [&](int64_t i) { repeat(first + i, spans.of(i)); });
  }

  void repeat(int64_t hierarchy, const Control& control) {
    if ((hierarchy > 0 && (problem_.control.should_stop() || too_many_to_recombine())) ||
        (settings_.repetitions < 1 && problem_.candidates.any(vertex(0))))
      return;
    Candidate& member = members_[hierarchy];
    const uint64_t seed = derive(seed_, hierarchy);
    const int64_t first = hierarchies_.first_of(hierarchy);
    const int64_t count = hierarchies_.first_of(hierarchy + 1) - first;
    bool helped = false;
    const bool relaxing = hierarchy == 0 || relaxation_helps_;
    member.score = with_partitioner(relaxing, control, [&](auto&& partitioner) {
      const Score found = partitioner.repeat(graph(), member.part, seed, first, count);
      helped = partitioner.relaxation_helped();
      return found;
    });
    if (hierarchy > 0 || !helped) return;
    relaxation_helps_ = true;
    plan_repetitions((problem_.repetitions() + 2) / 3);
  }

  // Collects the results of the repetitions and the candidates, the best first.
  void collect() {
    std::erase_if(members_, [](const Candidate& member) { return member.part.empty(); });
    for (size_t c = 0; c < problem_.candidates.count(); ++c) {
      const int32_t* row = problem_.candidates.row(c, vertex(0));
      if (!row) continue;
      std::vector<int32_t> given(size());
      for (int64_t v = 0; v < size(); ++v) given[v] = row[vertex(v)];
      if (graph().linear_cost) assign_linear_costs(graph(), max_block_weights_, given.data());
      const Score own = score(graph(), given.data(), max_block_weights_);
      members_.push_back({own, std::move(given)});
    }
    best_first(members_);
    members_.resize(std::min<size_t>(members_.size(), 1 + std::max<int64_t>(0, recombinations())));
  }

  // Tournament recombination: in every round each member of the better half is recombined with one of the
  // other half, side by side, until one partition is left; the remaining recombinations become V-cycles on
  // it. Pairing partitions of similar quality preserves more good parts than recombining one partition with
  // all others in turn.
  void tournament(const Control& control) {
    for (std::vector<Match> round; !(round = matches()).empty() && !control.should_stop();) {
      SideBySide spans(control, std::ssize(round));
      parallel_for(std::ssize(round), control.team(), [&](int64_t m) { recombine(round[m], spans.of(m)); });
      members_.resize((members_.size() + 1) / 2);
      best_first(members_);
    }
  }

  // Returns the recombinations of the next round. A member that is left alone is recombined with itself,
  // which is a V-cycle.
  std::vector<Match> matches() {
    std::vector<Match> round;
    const auto append = [&](size_t better, size_t other) {
      round.push_back({better, other, derive(seed_, 1000 + recombined_++)});
    };
    const size_t half = (members_.size() + 1) / 2;
    for (size_t m = half; m < members_.size(); ++m) append(m - half, m);
    if (members_.size() == 1 && recombined_ < recombinations()) append(0, 1);
    return round;
  }

  void recombine(const Match& match, const Control& control) {
    Candidate& better = members_[match.better];
    const int32_t* other = match.other < members_.size() ? members_[match.other].part.data() : nullptr;
    better.score = with_partitioner(false, control, [&](auto&& partitioner) {
      return partitioner.recombine(graph(), better.part, other, match.seed);
    });
  }

  int64_t finish(const Control& control, Out<int32_t> child) {
    Candidate best{{0, 0}, std::vector<int32_t>(trivial() ? size() : 0, 0)};
    if (!trivial()) {
      best = std::move(members_[0]);
      best.score = with_partitioner(false, control, [&](auto&& partitioner) {
        return partitioner.anneal(graph(), best.part, best.score, derive(seed_, 999));
      });
    }
    problem_.members.number(number_, 0, best.part, child, control.team());
    if (settings_.finished)
      std::atomic_ref<int32_t>(*settings_.finished).fetch_add(1, std::memory_order_relaxed);
    return best.score.cut;
  }

  const Graph<W>& graph() const { return problem_.groups() == 1 ? problem_.g : sub_; }
  int64_t size() const { return problem_.members.size(number_); }
  int32_t vertex(int64_t position) const { return problem_.members.vertex(number_, position); }
  bool trivial() const { return max_block_weights_.size() < 2 || size() == 0; }
  // Exact sizes need another partitioner; only this function decides about that.
  bool exact() const {
    return !graph().linear_cost && ExactPartitioner<W>::suits(graph(), max_block_weights_);
  }

  // Returns whether the blocks are exact and too many to be recombined. Of several repetitions one would be
  // kept and the others discarded, so the repetitions are spent on every bisection instead.
  bool too_many_to_recombine() const {
    return settings_.repetitions > 1 &&
           static_cast<int64_t>(max_block_weights_.size()) > ExactPartitioner<W>::kMostBlocks && exact();
  }

  // Calls `work` with the partitioner for the group, which relaxes shapes or does not.
  template <class Work> Score with_partitioner(bool relaxing, const Control& control, Work work) const {
    Context context = settings_.context;
    if (!relaxing) context.relaxation.rounds = 0;
    if (!exact()) return work(Partitioner<W>(max_block_weights_, context, control));
    int32_t per_bisection = settings_.bisection_repetitions;
    if (too_many_to_recombine()) {
      const int32_t one_more = std::min(per_bisection, std::numeric_limits<int32_t>::max() - 1) + 1;
      per_bisection = std::max(one_more, settings_.repetitions);
    }
    ExactContext how{std::max(1, settings_.context.initial.partitions), per_bisection, per_bisection - 1};
    how.annealing = settings_.context.annealing;
    return work(ExactPartitioner<W>(max_block_weights_, how, control));
  }

  // Returns the number of recombinations of whole partitions; others are made where repetitions share a
  // hierarchy.
  int64_t recombinations() const {
    return settings_.recombinations * hierarchies_.repetitions / problem_.repetitions() -
           (hierarchies_.repetitions - hierarchies_.hierarchies());
  }

  void plan_repetitions(int64_t repetitions) {
    hierarchies_ = {repetitions};
    if (settings_.recombinations > 0 && !trivial() && !exact())
      hierarchies_ = Partitioner<W>(max_block_weights_, settings_.context, problem_.control)
                         .hierarchies(graph(), repetitions);
  }

  const GroupProblem<W>& problem_;
  const GroupSettings& settings_;
  int64_t number_;
  std::span<const int64_t> max_block_weights_;
  uint64_t seed_;
  Graph<W> sub_;
  std::vector<Candidate> members_;
  RepetitionsByHierarchy hierarchies_;  // of the repetitions
  int64_t recombined_ = 0;        // recombinations made so far
  bool relaxation_helps_ = false;
};

}  // namespace

template <class W>
void partition_many(const Graph<W>& g, In<int32_t> group, In<int64_t> block_start,
                    In<int64_t> max_block_weight, In<uint64_t> seed, In<int32_t> candidates,
                    const GroupSettings& settings, Control control, Out<int32_t> child, Out<int64_t> cut) {
  const GroupProblem<W> problem{g,
                                group,
                                block_start,
                                max_block_weight,
                                seed,
                                {candidates, group.size()},
                                settings,
                                control,
                                {group, std::ssize(block_start) - 1, control.team()}};
  // Only the groups that are being solved are in memory. Threads that find no other group help with these.
  SideBySide spans(control, problem.groups());
  parallel_for(problem.groups(), control.team(),
               [&](int64_t i) { cut[i] = GroupPool<W>(problem, i).solve(spans.of(i), child); });
}

template void partition_many(const Graph<int32_t>&, In<int32_t>, In<int64_t>, In<int64_t>, In<uint64_t>,
                             In<int32_t>, const GroupSettings&, Control, Out<int32_t>, Out<int64_t>);
template void partition_many(const Graph<int64_t>&, In<int32_t>, In<int64_t>, In<int64_t>, In<uint64_t>,
                             In<int32_t>, const GroupSettings&, Control, Out<int32_t>, Out<int64_t>);

}  // namespace hopbytes
