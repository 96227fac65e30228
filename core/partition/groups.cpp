#include "partition/groups.hpp"

#include <deque>
#include <numeric>

#include "partition/group_pool.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

namespace {

template <class W> class GroupPartitioner {
 public:
  explicit GroupPartitioner(const GroupProblem<W>& problem)
      : settings_(problem.settings),
        idle_(settings_.threads - 1),
        control_(problem.control.with_idle(&idle_)),
        groups_(problem.groups()),
        repetitions_(problem.repetitions()),
        spans_(control_, groups_) {
    for (int64_t i = 0; i < groups_; ++i) pool_.emplace_back(problem, i);
  }

  // With few groups it extracts all of them and distributes repetitions and recombinations over the threads.
  // With many groups a thread solves a group completely, so that only the groups being solved are in memory.
  void solve(Out<int32_t> child, Out<int64_t> cut) {
    const Control of_group = control_.with_threads(settings_.threads).shared_by(groups_);
    const auto finish = [&](int64_t i) { cut[i] = pool_[i].finish(spans_.of(i, of_group), child); };
    if (groups_ / 2 >= settings_.threads) {
      control_.share_out(groups_, [&](int64_t i) {
        pool_[i].extract();
        repeat_on_all_hierarchies(i);
        pool_[i].collect();
        tournament({i}, 1);
        finish(i);
      });
      return;
    }
    control_.share_out(groups_, [&](int64_t i) { pool_[i].extract(); });
    int64_t searches = 0;
    for (const GroupPool<W>& pool : pool_) searches += pool.hierarchies();
    repeat_where_shapes_relax();
    const Control share = control_.with_threads(settings_.threads).shared_by(searches);
    std::deque<SideBySide> spans;  // of the repetitions, for each group
    for (int64_t i = 0; i < groups_; ++i) spans.emplace_back(spans_.of(i, control_), repetitions_);
    control_.share_out(groups_ * repetitions_, [&](int64_t job) {
      const int64_t i = job / repetitions_, hierarchy = job % repetitions_;
      if (hierarchy > 0 || !pool_[i].relaxes()) pool_[i].repeat(hierarchy, spans[i].of(hierarchy, share));
    });
    std::vector<int64_t> all(groups_);
    std::iota(all.begin(), all.end(), 0);
    for (GroupPool<W>& pool : pool_) pool.collect();
    tournament(all, settings_.threads);
    control_.share_out(groups_, finish);
  }

 private:
  using Match = typename GroupPool<W>::Match;

  // The other repetitions of these groups depend on the first ones.
  void repeat_where_shapes_relax() {
    std::vector<int64_t> relaxed;
    for (int64_t i = 0; i < groups_; ++i)
      if (pool_[i].relaxes()) relaxed.push_back(i);
    const Control share = control_.with_threads(settings_.threads).shared_by(std::ssize(relaxed));
    control_.share_out(std::ssize(relaxed),
                       [&](int64_t j) { pool_[relaxed[j]].repeat(0, spans_.of(relaxed[j], share)); });
  }

  // One thread makes in turn what several would do side by side.
  void repeat_on_all_hierarchies(int64_t i) {
    const Control control = spans_.of(i, control_);
    const int64_t first = pool_[i].relaxes() ? 1 : 0;
    if (first > 0) pool_[i].repeat(0, control);
    SideBySide spans(control, pool_[i].hierarchies());
    for (int64_t hierarchy = first; hierarchy < pool_[i].hierarchies(); ++hierarchy)
      pool_[i].repeat(hierarchy, spans.of(hierarchy, control_));
  }

  // Tournament recombination: in every round each member of the better half of a pool is recombined with one
  // of the other half, side by side, until one partition is left; the remaining recombinations become
  // V-cycles on it. Pairing partitions of similar quality preserves more good parts than recombining one
  // partition with all others in turn.
  void tournament(const std::vector<int64_t>& groups, int32_t threads) {
    for (std::vector<Match> round; !(round = matches(groups)).empty() && !control_.should_stop();) {
      const Control share = control_.with_threads(threads).shared_by(std::ssize(round));
      std::vector<int64_t> spans(round.size(), 0);
      control_.share_out(std::ssize(round), [&](int64_t m) {
        pool_[round[m].group].recombine(round[m], share.with_span(&spans[m]));
      });
      for (size_t m = 0, end = 0; m < round.size(); m = end) {
        while (end < round.size() && round[end].group == round[m].group) ++end;
        spans_.of(round[m].group, control_)
            .record_span(*std::max_element(spans.begin() + m, spans.begin() + end));
      }
      for (const int64_t i : groups) pool_[i].keep_better_half();
    }
  }

  std::vector<Match> matches(const std::vector<int64_t>& groups) {
    std::vector<Match> round;
    for (const int64_t i : groups) pool_[i].append_matches(round);
    return round;
  }

  const GroupSettings& settings_;
  IdleThreads idle_;
  const Control control_;
  int64_t groups_, repetitions_;
  std::vector<GroupPool<W>> pool_;
  SideBySide spans_;  // of the groups
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
                                {group, std::ssize(block_start) - 1, settings.threads}};
  GroupPartitioner<W>(problem).solve(child, cut);
}

template void partition_many(const Graph<int32_t>&, In<int32_t>, In<int64_t>, In<int64_t>, In<uint64_t>,
                             In<int32_t>, const GroupSettings&, Control, Out<int32_t>, Out<int64_t>);
template void partition_many(const Graph<int64_t>&, In<int32_t>, In<int64_t>, In<int64_t>, In<uint64_t>,
                             In<int32_t>, const GroupSettings&, Control, Out<int32_t>, Out<int64_t>);

}  // namespace hopbytes
