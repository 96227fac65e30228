#include "partition/groups.hpp"

#include "partition/group_pool.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

namespace {

template <class W> class GroupPartitioner {
 public:
  explicit GroupPartitioner(const GroupProblem<W>& problem)
      : problem_(problem), control_(problem.control), groups_(problem.groups()), spans_(control_, groups_) {}

  // Only the groups that are being solved are in memory. Threads that find no other group help with these.
  void solve(Out<int32_t> child, Out<int64_t> cut) {
    parallel_for(groups_, control_.team(), [&](int64_t i) {
      GroupPool<W> pool(problem_, i);
      const Control control = spans_.of(i);
      pool.extract();
      repeat(pool, control);
      pool.collect();
      tournament(pool, control);
      cut[i] = pool.finish(control, child);
    });
  }

 private:
  // If the first repetition relaxes shapes, the others depend on it.
  void repeat(GroupPool<W>& pool, const Control& control) const {
    const int64_t first = pool.relaxes() ? 1 : 0;
    if (first > 0) pool.repeat(0, control);
    const int64_t others = pool.hierarchies() - first;
    SideBySide spans(control, others);
    parallel_for(others, control.team(), [&](int64_t i) { pool.repeat(first + i, spans.of(i)); });
  }

  // Tournament recombination: in every round each member of the better half of a pool is recombined with one
  // of the other half, side by side, until one partition is left; the remaining recombinations become
  // V-cycles on it. Pairing partitions of similar quality preserves more good parts than recombining one
  // partition with all others in turn.
  void tournament(GroupPool<W>& pool, const Control& control) const {
    using Matches = std::vector<typename GroupPool<W>::Match>;
    for (Matches round; !(round = pool.matches()).empty() && !control.should_stop();) {
      SideBySide spans(control, std::ssize(round));
      parallel_for(std::ssize(round), control.team(),
                   [&](int64_t m) { pool.recombine(round[m], spans.of(m)); });
      pool.keep_better_half();
    }
  }

  const GroupProblem<W>& problem_;
  const Control control_;
  int64_t groups_;
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
                                {group, std::ssize(block_start) - 1, control.team()}};
  GroupPartitioner<W>(problem).solve(child, cut);
}

template void partition_many(const Graph<int32_t>&, In<int32_t>, In<int64_t>, In<int64_t>, In<uint64_t>,
                             In<int32_t>, const GroupSettings&, Control, Out<int32_t>, Out<int64_t>);
template void partition_many(const Graph<int64_t>&, In<int32_t>, In<int64_t>, In<int64_t>, In<uint64_t>,
                             In<int32_t>, const GroupSettings&, Control, Out<int32_t>, Out<int64_t>);

}  // namespace hopbytes
