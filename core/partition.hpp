// Many independent subproblems in one call: every group of vertices is cut into its own number of
// blocks with its own caps. Threads work on (group, run) pairs; who does what never matters.
#pragma once
#include "csr.hpp"
#include "exact.hpp"
#include "multilevel.hpp"
#include "parallel.hpp"

namespace hopbytes {

struct ManyOptions {
  PartitionOptions partition;
  int32_t runs = 1;      // independent runs per group, side by side, the best is kept; 0: one where there is no candidate
  int32_t combines = 0;  // recombinations of the best run with the others, then V-cycles
  int32_t bisections = 1;  // where sizes are exact: tries of every cut in two
  int32_t threads = 1;
  int32_t* finished = nullptr;  // counts groups done, for whoever watches
};

// The vertices of every group in ascending order, by counting sort.
struct Grouping {
  std::vector<int64_t> start;
  std::vector<int32_t> members, local;

  Grouping(In<int32_t> group, int64_t groups) : start(groups + 1, 0), members(group.size()), local(group.size()) {
    for (int32_t g : group) ++start[g + 1];
    for (int64_t i = 0; i < groups; ++i) start[i + 1] += start[i];
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    for (size_t v = 0; v < group.size(); ++v) {
      local[v] = static_cast<int32_t>(next[group[v]] - start[group[v]]);
      members[next[group[v]]++] = static_cast<int32_t>(v);
    }
  }
  std::span<const int32_t> of(int64_t g) const {
    return {members.data() + start[g], static_cast<size_t>(start[g + 1] - start[g])};
  }
};

// Writes child[v], the block of v inside its group, and cut[group], the weight cut there. The caps
// of group g are cap[cap_start[g] .. cap_start[g+1]). Candidates (may be empty) is a row-major
// (candidates x n) array of partitions made elsewhere that compete as further runs; a negative entry
// of a group's first vertex means there is none for that group.
template <class W>
void partition_many(const WorkGraph<W>& g, In<int32_t> group, In<int64_t> cap_start, In<int64_t> cap,
                    In<uint64_t> seed, In<int32_t> candidates, const ManyOptions& options, Control control,
                    Out<int32_t> child, Out<int64_t> cut) {
  const int64_t groups = static_cast<int64_t>(cap_start.size()) - 1;
  const Grouping grouping(group, groups);
  const int64_t runs = std::max(1, options.runs);
  std::vector<WorkGraph<W>> sub(groups);
  const bool whole = groups == 1;
  auto graph_of = [&](int64_t i) -> const WorkGraph<W>& { return whole ? g : sub[i]; };
  auto caps_of = [&](int64_t i) { return cap.subspan(cap_start[i], cap_start[i + 1] - cap_start[i]); };
  std::vector<std::vector<std::vector<int32_t>>> part(groups, std::vector<std::vector<int32_t>>(runs));
  std::vector<std::vector<Score>> scores(groups, std::vector<Score>(runs));

  // Row c of the candidates, null when it has nothing for group i.
  auto candidate = [&](int64_t i, size_t c) -> const int32_t* {
    const int32_t* row = candidates.data() + c * group.size();
    return row[grouping.of(i)[0]] < 0 ? nullptr : row;
  };
  const size_t rows = group.empty() ? 0 : candidates.size() / group.size();
  auto has_candidate = [&](int64_t i) {
    for (size_t c = 0; c < rows; ++c)
      if (candidate(i, c)) return true;
    return false;
  };

  // Where sizes leave no choice another engine is at work; this is the one place that decides.
  auto exact = [&](int64_t i) { return !graph_of(i).unary && ExactPartition<W>::suits(graph_of(i), caps_of(i)); };
  const ExactOptions exact_options{std::max(1, options.partition.tries), options.bisections, options.bisections - 1};

  auto solve = [&](int64_t i, int64_t run) {
    const WorkGraph<W>& graph = graph_of(i);
    if (caps_of(i).size() < 2 || graph.n == 0) {
      part[i][run].assign(graph.n, 0);
      return;
    }
    if (run > 0 && control.hurry()) return;
    if (options.runs < 1 && has_candidate(i)) return;
    if (exact(i)) {
      scores[i][run] = ExactPartition<W>(caps_of(i), exact_options, control)
                           .partition(graph, part[i][run], derive(seed[i], run));
      return;
    }
    Multilevel<W> multilevel(caps_of(i), options.partition, control);
    scores[i][run] = multilevel.run(graph, part[i][run], derive(seed[i], run), run);
  };
  auto finish = [&](int64_t i) {
    const WorkGraph<W>& graph = graph_of(i);
    const auto members = grouping.of(i);
    if (caps_of(i).size() > 1 && graph.n > 0) {
      for (size_t c = 0; c < rows; ++c) {
        const int32_t* row = candidate(i, c);
        if (!row) continue;
        std::vector<int32_t> given(graph.n);
        for (int64_t v = 0; v < graph.n; ++v) given[v] = row[members[v]];
        if (graph.unary) settle(graph, caps_of(i), given.data());
        scores[i].push_back(score(graph, given.data(), caps_of(i)));
        part[i].push_back(std::move(given));
      }
      std::vector<size_t> order(part[i].size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return scores[i][x] < scores[i][y]; });
      std::vector<int32_t>& best = part[i][order[0]];
      Score best_score = scores[i][order[0]];
      auto recombine = [&](auto&& engine) {
        for (int32_t c = 0; c < options.combines && !control.hurry(); ++c) {
          const size_t other = static_cast<size_t>(c) + 1 < order.size() ? order[c + 1] : 0;
          const bool alone = static_cast<size_t>(c) + 1 >= order.size() || part[i][other].empty();
          best_score = engine.combine(graph, best, alone ? nullptr : part[i][other].data(), derive(seed[i], 1000 + c));
        }
      };
      if (exact(i)) recombine(ExactPartition<W>(caps_of(i), exact_options, control));
      else recombine(Multilevel<W>(caps_of(i), options.partition, control));
      cut[i] = best_score.cut;
      for (int64_t v = 0; v < graph.n; ++v) child[members[v]] = best[v];
    } else {
      cut[i] = 0;
      for (int64_t v = 0; v < graph.n; ++v) child[members[v]] = 0;
    }
    part[i].clear();
    sub[i] = WorkGraph<W>();
    if (options.finished) std::atomic_ref<int32_t>(*options.finished).fetch_add(1, std::memory_order_relaxed);
  };

  // Few groups: extract all, spread the runs over the threads. Many: a thread does a group whole, so
  // that only the groups at work are in memory.
  auto extract = [&](int64_t i) {
    if (whole) return;
    sub[i] = induced(g, grouping.of(i), group.data(), static_cast<int32_t>(i), grouping.local.data());
    if (g.unary) sub[i].unary = std::make_shared<const Unary>(g.unary->of(grouping.of(i)));
  };
  if (groups / 2 >= options.threads) {
    parallel_for(groups, options.threads, [&](int64_t i) {
      extract(i);
      for (int64_t run = 0; run < runs; ++run) solve(i, run);
      finish(i);
    });
    return;
  }
  parallel_for(groups, options.threads, extract);
  parallel_for(groups * runs, options.threads, [&](int64_t job) { solve(job / runs, job % runs); });
  parallel_for(groups, options.threads, finish);
}

}  // namespace hopbytes
