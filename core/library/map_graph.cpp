// The C library: checks what it is given, calls the driver of the core and verifies what it returns.

#include <chrono>
#include <condition_variable>
#include <thread>

#include "graph/cost.hpp"
#include "graph/csr_build.hpp"
#include "library/keep_bounds.hpp"
#include "partition/deep_multisection.hpp"

namespace hopbytes {

namespace {

constexpr int64_t kMostCost = int64_t{1} << 59;  // as in Python (hopbytes/engine/control.py)

// Sets a control flag when the time is over.
class TimeLimit {
 public:
  TimeLimit(double seconds, int32_t& flag) {
    if (seconds <= 0) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::min(seconds, 1e9));
    clock_ = std::jthread([end, &flag](const std::stop_token& ended) {
      std::mutex own;
      std::unique_lock<std::mutex> lock(own);
      std::condition_variable_any().wait_until(lock, ended, end, [] { return false; });
      if (!ended.stop_requested()) Control(&flag).request_stop();
    });
  }

 private:
  std::jthread clock_;  // ends with this object
};

void check_options(const hopbytes_options& options) {
  require(options.imbalance >= 0 && options.imbalance <= 7, HOPBYTES_BAD_OPTION);
  require(options.threads >= 1 && options.threads <= 1024, HOPBYTES_BAD_OPTION);
  require(options.time_limit >= 0, HOPBYTES_BAD_OPTION);
  require(options.effort >= -1 && options.effort <= 1, HOPBYTES_BAD_OPTION);
  require(options.k >= 0, HOPBYTES_BAD_MACHINE);
}

// Returns the block of every fixed vertex, -1 for the others; nothing if all are free.
std::vector<int32_t> fixed_blocks(const hopbytes_options& options, int64_t n, int32_t base, int64_t k) {
  std::vector<int32_t> block(options.fixed ? n : 0);
  for (size_t v = 0; v < block.size(); ++v) {
    require(options.fixed[v] < base + k, HOPBYTES_BAD_FIXED);
    block[v] = options.fixed[v] < base ? -1 : options.fixed[v] - base;
  }
  if (std::all_of(block.begin(), block.end(), [](int32_t b) { return b < 0; })) block.clear();
  return block;
}

TreeMachine machine_of(const hopbytes_options& options) {
  if (options.machine) {
    TreeMachine machine{std::string_view(options.machine)};
    require(options.k <= machine.pes(), HOPBYTES_BAD_MACHINE);
    if (options.k > 0) machine.keep(options.k);
    return machine;
  }
  require(options.k > 0, HOPBYTES_BAD_MACHINE);
  return TreeMachine(options.k);
}

std::vector<int64_t> capacities(const hopbytes_options& options, int64_t k) {
  std::vector<int64_t> capacity(k, 1);
  for (int64_t b = 0; options.capacity && b < k; ++b) {
    capacity[b] = options.capacity[b];
    require(capacity[b] >= 1 && capacity[b] <= std::numeric_limits<int32_t>::max(), HOPBYTES_BAD_OPTION);
  }
  return capacity;
}

// The settings for an effort of -1, 0 or 1.
DeepContext context_of(int32_t effort) {
  DeepContext context;
  if (effort < 0) {
    context.per_child = context.per_child_of_box = 100;
    context.refinement.flow.rounds = 1;
    context.refinement.flow.width = context.refinement.flow.layers = 2;
  }
  if (effort > 0) {
    context.anew = true;
    context.initial = DeepContext::kMoreInitial;
    context.refinement = DeepContext::kMoreRefinement;
  }
  return context;
}

void search(const CheckedGraph& graph, const TreeMachine& machine, In<int64_t> capacity,
            const LoadBounds& bounds, const std::shared_ptr<const LinearCost>& fixed,
            const hopbytes_options& options, Team& team, std::vector<int32_t>& part) {
  const AnyDistance distance(machine.distance());
  const std::vector<int32_t> groups = machine.groups();
  Machine of_search{groups, capacity, bounds.most, 1, 8, distance};
  if (!bounds.load.empty()) of_search.heaviest = *std::max_element(bounds.load.begin(), bounds.load.end());
  const std::vector<MachineLevel> levels = levels_of(of_search);
  int32_t flag = 0;
  const TimeLimit limit(options.time_limit, flag);
  const Control control = Control(&flag).with_team(team);
  const DeepContext context = context_of(options.effort);
  const auto find = [&]<class W>(Graph<W> view) {
    view.linear_cost = fixed;
    deep_multisection(view, levels, context, options.seed, control, part);
  };
  if (fits_32_bits(graph.csr(), team)) find(graph_view<int32_t>(graph.csr(), bounds.load, team));
  else find(graph_view<int64_t>(graph.csr(), bounds.load, team));
}

// Returns the largest load of a block over its share, less 1.
double imbalance_of(const std::vector<int64_t>& load, In<int64_t> capacity, const std::vector<int32_t>& part,
                    Team& team) {
  std::vector<int64_t> sum(capacity.size(), 0);
  group_sums(part, load.empty() ? Weights<int64_t>() : Weights(load.data()), team, sum);
  const int64_t total = std::accumulate(sum.begin(), sum.end(), int64_t{0});
  const int64_t whole = std::accumulate(capacity.begin(), capacity.end(), int64_t{0});
  double largest = 0;
  for (size_t b = 0; b < sum.size(); ++b)
    largest = std::max(largest, static_cast<double>(sum[b]) / static_cast<double>(capacity[b]));
  return total == 0 ? 0 : largest * static_cast<double>(whole) / static_cast<double>(total) - 1;
}

hopbytes_result measured(const CheckedGraph& graph, const TreeMachine& machine, In<int64_t> capacity,
                         const std::vector<int32_t>& part, Team& team) {
  hopbytes_result result{};
  result.cost = comm_cost(graph.csr(), part, machine.distance(), team) / 2;
  result.cut = comm_cost(graph.csr(), part, FlatDistance(), team) / 2;
  result.imbalance = imbalance_of(graph.load, capacity, part, team);
  return result;
}

int map(const hopbytes_graph& given, const hopbytes_options& options, int32_t* out, hopbytes_result* result) {
  CheckedGraph graph = GraphReader(given).read();
  const int64_t n = graph.n();
  check_options(options);
  TreeMachine machine = machine_of(options);
  const int64_t k = machine.pes();
  const std::vector<int64_t> capacity = capacities(options, k);
  const __int128 furthest = std::max<int64_t>(1, machine.largest_distance());
  require(graph.total_weight <= kMostCost && graph.total_weight * furthest <= kMostCost, HOPBYTES_TOO_LARGE);
  const TeamOfCall team(options.threads);
  const std::vector<int32_t> home = fixed_blocks(options, n, given.base, k);
  const auto fixed = home.empty() ? nullptr : std::make_shared<const LinearCost>(LinearCost::fixed(home));
  std::vector<int32_t> part(n, 0), found;
  int64_t over = 0;
  if (n > 0 && k > 1) {
    const bool few = n <= k;  // one vertex per block
    const int64_t last = home.empty() ? 0 : *std::max_element(home.begin(), home.end());
    if (few) machine.keep(std::max(n, last + 1));
    const std::vector<int64_t> ones(few ? machine.pes() : 0, 1);
    const In<int64_t> sizes = few ? In<int64_t>(ones) : In<int64_t>(capacity);
    const LoadBounds bounds =
        few ? LoadBounds{{}, ones} : load_bounds(graph.load, n, sizes, Imbalance(options.imbalance));
    if (machine.pes() > 1) search(graph, machine, sizes, bounds, fixed, options, team, part);
    found = part;
    for (const int32_t block : part) require(block >= 0 && block < machine.pes(), HOPBYTES_INTERNAL);
    const BoundKeeper keeper(graph.csr(), machine, bounds, fixed.get());
    keeper.meet_bounds(part);
    keeper.fill_empty(part);
    over = keeper.overload(part);
  }
  for (const int32_t block : part) require(block >= 0 && block < k, HOPBYTES_INTERNAL);
  for (size_t v = 0; v < home.size(); ++v) require(home[v] < 0 || home[v] == part[v], HOPBYTES_INTERNAL);
  if (result) {
    *result = measured(graph, machine, capacity, part, team);
    for (size_t v = 0; v < found.size(); ++v) result->moved += found[v] != part[v];
  }
  for (int64_t v = 0; v < n; ++v) out[v] = part[v] + given.base;
  return over > 0 ? HOPBYTES_OVERLOADED : HOPBYTES_OK;
}

}  // namespace

}  // namespace hopbytes

extern "C" {

void hopbytes_default_options(hopbytes_options* options) {
  if (options) *options = hopbytes_options{0, nullptr, nullptr, 0.03, 0, 1, 0, nullptr, 0};
}

int hopbytes_map(const hopbytes_graph* graph, const hopbytes_options* options, int32_t* part,
                 hopbytes_result* result) {
  if (!graph || !options || (!part && graph->n > 0)) return HOPBYTES_NULL;
  try {
    return hopbytes::map(*graph, *options, part, result);
  } catch (const hopbytes::Refusal& refusal) {
    return refusal.status;
  } catch (const std::bad_alloc&) {
    return HOPBYTES_NO_MEMORY;
  } catch (...) {
    return HOPBYTES_INTERNAL;
  }
}

const char* hopbytes_message(int status) {
  // From 1 downwards.
  static constexpr const char* bad_option =
      "bad option, expected imbalance 0 to 7, threads 1 to 1024, time limit >= 0, capacities >= 1, 32 or 64 "
      "bits, base 0 or 1, effort -1 to 1";
  static constexpr const char* messages[] = {
      "blocks were written, but no way was found to keep the bound of each",
      "blocks were written",
      "a pointer that is needed is null",
      "bad number of vertices or rows, expected 0 <= n < 2^31 - 1 and rows that ascend from base",
      "a target is no vertex, expected base to base + n - 1",
      "a weight or a load is negative, expected integers >= 0",
      "the graph is asymmetric, expected both directions of every edge with one weight",
      "sums are too large, expected weights x distances up to 2^59 and loads up to 2^62",
      "bad machine or k, expected levels like \"node:8@10 core:4@1\" and 1 <= k <= its PEs",
      bad_option,
      "a vertex is fixed to no block, expected base to base + k - 1, or less where it is free",
      "not enough memory",
      "internal error of hopbytes; please report this"};
  static_assert(std::size(messages) == HOPBYTES_OVERLOADED - HOPBYTES_INTERNAL + 1);
  const bool known = status <= HOPBYTES_OVERLOADED && status >= HOPBYTES_INTERNAL;
  return known ? messages[HOPBYTES_OVERLOADED - status] : "unknown status";
}

const char* hopbytes_version(void) { return HOPBYTES_VERSION; }

}  // extern "C"
