// The entry points of METIS 5 over the C library. Compiled once for each width of METIS' integers
// (IDXTYPEWIDTH) and real numbers (REALTYPEWIDTH). What is not done here goes to the METIS that is loaded
// behind, or ends with an error.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "library/names.hpp"

namespace {

using hopbytes::call_original;
using hopbytes::inside_original;
using hopbytes::Log;

#if IDXTYPEWIDTH == 64
using Index = int64_t;
#else
using Index = int32_t;
#endif
#if REALTYPEWIDTH == 64
using Real = double;
#else
using Real = float;
#endif

enum Status { kOk = 1, kInput = -2, kMemory = -3, kError = -4 };

constexpr int kOptions = 40;

// Positions in METIS' options, which differ between versions: HOPBYTES_METIS=5.2 selects the later ones.
struct Positions {
  int type, objective, seed, least_connections, connected, allowance, numbering;
};
Positions positions() {
  const char* version = std::getenv("HOPBYTES_METIS");
  const bool later = version && version[0] == '5' && version[1] == '.' && version[2] >= '2';
  return later ? Positions{0, 1, 9, 11, 12, 17, 18} : Positions{0, 1, 8, 10, 11, 16, 17};
}

// METIS' options; -1 stands for the default.
struct Options {
  explicit Options(const Index* given, bool k_way) : at(positions()) {
    const auto read = [&](int i, int64_t usual) {
      return given && given[i] != -1 ? int64_t{given[i]} : usual;
    };
    type = read(at.type, k_way ? 1 : 0);
    objective = read(at.objective, 0);
    seed = read(at.seed, -1);
    least_connections = read(at.least_connections, 0) != 0;
    connected = read(at.connected, 0) != 0;
    allowance = read(at.allowance, k_way ? 30 : 1);
    numbering = read(at.numbering, 0);
  }
  bool valid() const {
    return (objective == 0 || objective == 1) && (numbering == 0 || numbering == 1) && allowance > 0;
  }

  Positions at;
  int64_t type, objective, seed, allowance, numbering;
  bool least_connections, connected;
};

struct Graph {
  const Index *n = nullptr, *constraints = nullptr, *rows = nullptr, *targets = nullptr, *loads = nullptr,
              *weights = nullptr;
};

struct Blocks {
  const Index* count;
  const Real *shares, *allowances;
};

// Calls the function of this name in the METIS behind this library.
template <class... Arguments> int pass_on(const char* name, Arguments... arguments) {
  using Function = int (*)(Arguments...);
  const auto function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  if (!function) return kError;
  return call_original([&] { return function(arguments...); });
}

int status_of(int status) {
  if (status >= 0) return kOk;
  if (status == HOPBYTES_NO_MEMORY) return kMemory;
  return status == HOPBYTES_INTERNAL ? kError : kInput;
}

// Moves every part of a block that hangs together and is not its largest to a neighbouring block with room.
// Returns whether each block hangs together, or has one part in each component of the graph that it shares
// with no other.
class Connector {
 public:
  Connector(const Graph& graph, int64_t base, std::vector<int64_t> room, std::vector<int32_t>& part)
      : graph_(graph), n_(*graph.n), base_(base), room_(std::move(room)), part_(part) {
    for (int64_t v = 0; v < n_; ++v) room_[part_[v]] -= load(v);
  }

  bool connect() {
    for (int round = 0; round < 20; ++round) {
      find_pieces();
      if (extra_.empty()) return true;
      bool moved = false;
      for (const int32_t piece : extra_) moved |= move(piece);
      if (!moved) break;
    }
    find_pieces();
    return std::all_of(extra_.begin(), extra_.end(), [&](int32_t piece) { return !touches_others(piece); });
  }

  // Returns the weight between blocks.
  int64_t cut() const {
    int64_t twice = 0;
    for (int64_t v = 0; v < n_; ++v)
      each_arc(v, [&](int64_t u, int64_t w) { twice += part_[u] != part_[v] ? w : 0; });
    return twice / 2;
  }

 private:
  int64_t load(int64_t v) const { return graph_.loads ? graph_.loads[v] : 1; }
  template <class Work> void each_arc(int64_t v, Work work) const {
    for (Index e = graph_.rows[v]; e < graph_.rows[v + 1]; ++e)
      work(graph_.targets[e - base_] - base_, graph_.weights ? graph_.weights[e - base_] : 1);
  }

  void find_pieces() {
    piece_.assign(n_, -1);
    first_.clear(), vertices_.clear();
    std::vector<std::pair<int64_t, int32_t>> largest(room_.size(), {-1, -1});
    for (int64_t s = 0; s < n_; ++s) {
      if (piece_[s] >= 0) continue;
      const auto piece = static_cast<int32_t>(first_.size());
      size_t next = vertices_.size();
      first_.push_back(next);
      vertices_.push_back(s);
      piece_[s] = piece;
      for (; next < vertices_.size(); ++next)
        each_arc(vertices_[next], [&](int64_t u, int64_t) {
          if (piece_[u] >= 0 || part_[u] != part_[s]) return;
          piece_[u] = piece;
          vertices_.push_back(u);
        });
      const auto size = static_cast<int64_t>(vertices_.size() - first_.back());
      if (size > largest[part_[s]].first) largest[part_[s]] = {size, piece};
    }
    extra_.clear();
    first_.push_back(vertices_.size());
    for (int32_t piece = 0; piece + 1 < std::ssize(first_); ++piece)
      if (largest[part_[vertices_[first_[piece]]]].second != piece) extra_.push_back(piece);
  }

  bool touches_others(int32_t piece) const {
    bool found = false;
    for (size_t i = first_[piece]; i < first_[piece + 1]; ++i)
      each_arc(vertices_[i], [&](int64_t u, int64_t) { found |= piece_[u] != piece; });
    return found;
  }

  bool move(int32_t piece) {
    const int32_t own = part_[vertices_[first_[piece]]];
    std::vector<std::pair<int32_t, int64_t>> near;  // block, weight of the edges to it
    int64_t size = 0;
    for (size_t i = first_[piece]; i < first_[piece + 1]; ++i) {
      size += load(vertices_[i]);
      each_arc(vertices_[i], [&](int64_t u, int64_t w) {
        if (part_[u] != own) near.emplace_back(part_[u], w);
      });
    }
    std::sort(near.begin(), near.end());
    int32_t best = -1;
    int64_t most = -1;
    for (size_t i = 0; i < near.size();) {
      const int32_t block = near[i].first;
      int64_t sum = 0;
      for (; i < near.size() && near[i].first == block; ++i) sum += near[i].second;
      if (sum > most && room_[block] >= size) best = block, most = sum;
    }
    if (best < 0) return false;
    room_[own] += size, room_[best] -= size;
    for (size_t i = first_[piece]; i < first_[piece + 1]; ++i) part_[vertices_[i]] = best;
    return true;
  }

  const Graph& graph_;
  const int64_t n_, base_;
  std::vector<int64_t> room_;
  std::vector<int32_t>& part_;
  std::vector<int32_t> piece_, extra_;
  std::vector<size_t> first_;
  std::vector<int64_t> vertices_;
};

void log_call(const Log& log, const Graph& graph, int64_t k, const char* how, const hopbytes_result* result,
              int status) {
  const bool sized = graph.n && graph.rows && *graph.n >= 0;
  const int64_t n = sized ? *graph.n : -1;
  log.write(n, sized ? (graph.rows[n] - graph.rows[0]) / 2 : -1, k, how, result, status);
}

// A cut beyond the integers of METIS is the largest of them.
Index reported(int64_t cut) {
  return static_cast<Index>(std::min<int64_t>(cut, std::numeric_limits<Index>::max()));
}

// Returns the shares as integers of about 2^30 in total; empty if they are no shares.
std::vector<int64_t> capacities(const Real* shares, int64_t k) {
  std::vector<int64_t> capacity;
  double sum = 0;
  for (int64_t b = 0; b < k; ++b) {
    const auto share = static_cast<double>(shares[b]);
    if (!(share > 0 && share <= 1)) return {};
    sum += share;
    capacity.push_back(std::max<int64_t>(1, std::llround(share * 1073741824.0)));
  }
  return sum > 0.99 && sum < 1.01 ? capacity : std::vector<int64_t>();
}

// The bound of METIS: ufactor thousandths beyond the share, and a little for rounding, but not more than
// hopbytes.h takes.
double imbalance_of(const Options& options, const Real* allowances) {
  constexpr double rounding = 0.0000499, most = 7;
  const double asked =
      allowances ? static_cast<double>(allowances[0]) - 1 : static_cast<double>(options.allowance) / 1000;
  return std::min(asked + rounding, most);
}

// Fills `part`, from 0 on. Returns 0 if METIS has to do it.
int partition(const Graph& graph, const Blocks& blocks, const Options& options, const Log& log,
              std::vector<int32_t>& part, int64_t& cut) {
  const int64_t k = *blocks.count;
  std::vector<int64_t> capacity;
  if (blocks.shares && (capacity = capacities(blocks.shares, k)).empty()) return kInput;
  hopbytes_graph given{*graph.n,    graph.rows,   graph.targets, graph.weights,
                       graph.loads, IDXTYPEWIDTH, IDXTYPEWIDTH,  static_cast<int32_t>(options.numbering)};
  hopbytes_options wanted;
  hopbytes_default_options(&wanted);
  wanted.k = k;
  wanted.imbalance = imbalance_of(options, blocks.allowances);
  wanted.seed = options.seed < 0 ? 0 : static_cast<uint64_t>(options.seed);
  if (!capacity.empty()) wanted.capacity = capacity.data();
  wanted.machine = hopbytes::machine_of_environment();
  wanted.effort = hopbytes::effort(options.type == 1 ? -1 : 1);
  part.assign(*graph.n, 0);
  hopbytes_result result{};
  const char* how = nullptr;
  const int status = hopbytes::map_or_cut(given, wanted, part.data(), result, how);
  if (status == HOPBYTES_TOO_LARGE) return 0;
  if (status >= 0) {
    for (int32_t& block : part) block -= static_cast<int32_t>(options.numbering);
    if (options.connected) {
      int64_t total = 0;
      for (int64_t v = 0; v < *graph.n; ++v) total += graph.loads ? graph.loads[v] : 1;
      std::vector<int64_t> room(k);
      for (int64_t b = 0; b < k; ++b) {
        const double share =
            blocks.shares ? static_cast<double>(blocks.shares[b]) : 1.0 / static_cast<double>(k);
        const double even = std::ceil(share * static_cast<double>(total));
        room[b] =
            static_cast<int64_t>(std::max(even, (1 + wanted.imbalance) * share * static_cast<double>(total)));
      }
      Connector connector(graph, options.numbering, std::move(room), part);
      if (!connector.connect()) return 0;
      result.cut = result.cost = connector.cut();
    }
    cut = result.cut;
  }
  log_call(log, graph, k, how, status >= 0 ? &result : nullptr, status_of(status));
  return status_of(status);
}

template <class Work> int guarded(Work work) { return hopbytes::guarded(work, kMemory, kError); }

bool complete(const Graph& graph, const Blocks& blocks) {
  if (!graph.n || !graph.rows || !blocks.count || *graph.n < 0 || *blocks.count < 1) return false;
  return graph.targets || graph.rows[*graph.n] == graph.rows[0];
}

// Calls METIS' own function with the arguments of this call.
using Original = std::function<int()>;

int refused(const Log& log, const Blocks& blocks) {
  log_call(log, {}, blocks.count ? *blocks.count : -1, "refused", nullptr, kInput);
  return kInput;
}

// Divides a graph and calls write(part, cut), or has METIS do it if this library does not do what is asked.
template <class Write>
int divide(const Graph& graph, const Blocks& blocks, const Options& options, const Log& log,
           const Original& original, Write write) {
  std::vector<int32_t> part;
  int64_t cut = 0;
  int status = 0;
  if (*graph.constraints == 1 && options.objective == 0 && !options.least_connections &&
      *blocks.count <= std::numeric_limits<int32_t>::max())
    status = partition(graph, blocks, options, log, part, cut);
  if (status == 0) {
    status = original();
    log_call(log, graph, *blocks.count, "passed_on", nullptr, status);
  } else if (status == kOk) {
    write(part, cut);
  }
  return status;
}

int part_graph(const char* name, bool k_way, const Graph& graph, const Blocks& blocks, const Index* given,
               Index* edge_cut, Index* out, const Original& original) {
  if (inside_original) return original();
  return guarded([&] {
    const Log log(name);
    const Options options(given, k_way);
    if (!complete(graph, blocks) || !graph.constraints || *graph.constraints < 1 || !edge_cut || !out ||
        !options.valid() || (blocks.allowances && *graph.constraints == 1 && !(blocks.allowances[0] > 1)))
      return refused(log, blocks);
    return divide(graph, blocks, options, log, original, [&](const std::vector<int32_t>& part, int64_t cut) {
      for (size_t v = 0; v < part.size(); ++v) out[v] = static_cast<Index>(part[v] + options.numbering);
      *edge_cut = reported(cut);
    });
  });
}

// ------------------------------------------------------------------------------------------------ meshes

// The nodes of elements, or the elements of nodes, from 0 on.
struct Lists {
  std::vector<int64_t> start;
  std::vector<int64_t> item;
  int64_t size() const { return std::ssize(start) - 1; }
};

struct Mesh {
  const Index *elements, *nodes, *start, *item;
};

bool read_mesh(const Mesh& mesh, int64_t base, Lists& nodes_of) {
  const auto& [elements, nodes, start, item] = mesh;
  if (!elements || !nodes || !start || *elements < 1 || *nodes < 1 || start[0] != base) return false;
  for (int64_t e = 0; e < *elements; ++e)
    if (start[e] > start[e + 1]) return false;
  const int64_t count = start[*elements] - base;
  if (count > 0 && !item) return false;
  for (int64_t i = 0; i <= *elements; ++i) nodes_of.start.push_back(start[i] - base);
  for (int64_t i = 0; i < count; ++i) {
    if (item[i] < base || item[i] - base >= *nodes) return false;
    nodes_of.item.push_back(item[i] - base);
  }
  return true;
}

Lists transposed(const Lists& lists, int64_t count) {
  Lists back;
  back.start.assign(count + 1, 0);
  back.item.resize(lists.item.size());
  for (const int64_t item : lists.item) ++back.start[item + 1];
  std::partial_sum(back.start.begin(), back.start.end(), back.start.begin());
  std::vector<int64_t> next(back.start.begin(), back.start.end() - 1);
  for (int64_t e = 0; e < lists.size(); ++e)
    for (int64_t i = lists.start[e]; i < lists.start[e + 1]; ++i) back.item[next[lists.item[i]]++] = e;
  return back;
}

// The rows of a graph in METIS' form.
struct Rows {
  std::vector<Index> start{0}, target;
};

// Joins the lists that share at least `common` items, or all but one of the shorter list.
Rows neighbours(const Lists& lists, const Lists& back, int64_t common, int64_t base) {
  Rows rows;
  rows.start[0] = static_cast<Index>(base);
  std::vector<int64_t> shared(lists.size(), 0), near;
  const auto length = [&](int64_t i) { return lists.start[i + 1] - lists.start[i]; };
  for (int64_t a = 0; a < lists.size(); ++a) {
    near.clear();
    for (int64_t i = lists.start[a]; i < lists.start[a + 1]; ++i)
      for (int64_t j = back.start[lists.item[i]]; j < back.start[lists.item[i] + 1]; ++j) {
        const int64_t b = back.item[j];
        if (b != a && shared[b]++ == 0) near.push_back(b);
      }
    std::sort(near.begin(), near.end());
    for (const int64_t b : near) {
      const int64_t count = std::exchange(shared[b], 0);
      if (count >= common || count >= length(a) - 1 || count >= length(b) - 1)
        rows.target.push_back(static_cast<Index>(b + base));
    }
    if (std::ssize(rows.target) + 1 > std::numeric_limits<Index>::max()) throw std::bad_alloc();
    rows.start.push_back(static_cast<Index>(std::ssize(rows.target) + base));
  }
  return rows;
}

Rows rows_of_elements(const Lists& nodes_of, int64_t nodes, int64_t common, int64_t base) {
  return neighbours(nodes_of, transposed(nodes_of, nodes), std::max<int64_t>(1, common), base);
}

Rows rows_of_nodes(const Lists& nodes_of, int64_t nodes, int64_t base) {
  return neighbours(transposed(nodes_of, nodes), nodes_of, 1, base);
}

// Gives rows to the caller, who frees them by METIS_Free.
int hand_over(const Rows& rows, Index** start, Index** target) {
  const auto copied = [](const std::vector<Index>& values) {
    auto* copy = static_cast<Index*>(std::malloc(std::max<size_t>(1, values.size()) * sizeof(Index)));
    if (copy) std::copy(values.begin(), values.end(), copy);
    return copy;
  };
  Index* first = copied(rows.start);
  Index* second = copied(rows.target);
  if (!first || !second) {
    std::free(first), std::free(second);
    return kMemory;
  }
  *start = first, *target = second;
  return kOk;
}

// Gives each item to the block of most lists that hold it, of equal ones to that with the fewest items so
// far.
std::vector<int32_t> induced(const Lists& back, const std::vector<int32_t>& part, int64_t k) {
  std::vector<int32_t> block(back.size(), -1);
  std::vector<int64_t> items(k, 0), count(k, 0);
  for (int64_t v = 0; v < back.size(); ++v) {
    int32_t best = -1;
    for (int64_t i = back.start[v]; i < back.start[v + 1]; ++i) ++count[part[back.item[i]]];
    for (int64_t i = back.start[v]; i < back.start[v + 1]; ++i) {
      const int32_t b = part[back.item[i]];
      if (best < 0 || count[b] > count[best] || (count[b] == count[best] && items[b] < items[best])) best = b;
    }
    for (int64_t i = back.start[v]; i < back.start[v + 1]; ++i) count[part[back.item[i]]] = 0;
    if (best >= 0) ++items[block[v] = best];
  }
  for (int32_t& b : block)  // of no list
    if (b < 0)
      ++items[b = static_cast<int32_t>(std::min_element(items.begin(), items.end()) - items.begin())];
  return block;
}

int part_mesh(const char* name, bool of_elements, const Mesh& mesh, const Index* loads, const Index* common,
              const Blocks& blocks, const Index* given, Index* edge_cut, Index* element_block,
              Index* node_block, const Original& original) {
  if (inside_original) return original();
  return guarded([&] {
    const Log log(name);
    const Options options(given, !(given && given[0] == 0));
    const int64_t base = options.numbering;
    Lists nodes_of;
    if (!options.valid() || !blocks.count || *blocks.count < 1 || (of_elements && !common) || !edge_cut ||
        !element_block || !node_block || !read_mesh(mesh, base, nodes_of))
      return refused(log, blocks);
    const Rows rows = of_elements ? rows_of_elements(nodes_of, *mesh.nodes, *common, base)
                                  : rows_of_nodes(nodes_of, *mesh.nodes, base);
    const Index one = 1;
    const Graph graph{.n = of_elements ? mesh.elements : mesh.nodes,
                      .constraints = &one,
                      .rows = rows.start.data(),
                      .targets = rows.target.data(),
                      .loads = loads};
    return divide(graph, blocks, options, log, original, [&](const std::vector<int32_t>& part, int64_t cut) {
      const Lists back = of_elements ? transposed(nodes_of, *mesh.nodes) : nodes_of;
      const std::vector<int32_t> other = induced(back, part, *blocks.count);
      const auto write = [&](const std::vector<int32_t>& from, Index* to) {
        for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<Index>(from[i] + base);
      };
      write(part, of_elements ? element_block : node_block);
      write(other, of_elements ? node_block : element_block);
      *edge_cut = reported(cut);
    });
  });
}

// The graph of a mesh, which make(nodes_of) makes of the nodes of its elements.
template <class Make>
int mesh_graph(const Mesh& mesh, const Index* numbering, Index** rows, Index** targets, Make make) {
  return guarded([&] {
    Lists nodes_of;
    if (!numbering || !rows || !targets || (*numbering != 0 && *numbering != 1) ||
        !read_mesh(mesh, *numbering, nodes_of))
      return static_cast<int>(kInput);
    return hand_over(make(nodes_of), rows, targets);
  });
}

}  // namespace

// METIS has names for four Fortran compilers.
// NOLINTBEGIN(bugprone-macro-parentheses): names cannot be enclosed.
#define FORTRAN(lower, upper, name)                                                                      \
  extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) upper, lower, lower##_, \
      lower##__;
// NOLINTEND(bugprone-macro-parentheses)

#define PART_GRAPH(name, k_way)                                                                          \
  EXPORT int name(Index* n, Index* constraints, Index* rows, Index* targets, Index* loads, Index* sizes, \
                  Index* weights, Index* k, Real* shares, Real* allowances, Index* options, Index* cut,  \
                  Index* part) {                                                                         \
    const auto original = [&] {                                                                          \
      return pass_on(#name, n, constraints, rows, targets, loads, sizes, weights, k, shares, allowances, \
                     options, cut, part);                                                                \
    };                                                                                                   \
    return part_graph(#name, k_way, {n, constraints, rows, targets, loads, weights},                     \
                      {k, shares, allowances}, options, cut, part, original);                            \
  }
PART_GRAPH(METIS_PartGraphKway, true)
PART_GRAPH(METIS_PartGraphRecursive, false)

EXPORT int METIS_PartMeshDual(Index* elements, Index* nodes, Index* start, Index* item, Index* loads,
                              Index* sizes, Index* common, Index* k, Real* shares, Index* options, Index* cut,
                              Index* element_block, Index* node_block) {
  const auto original = [&] {
    return pass_on("METIS_PartMeshDual", elements, nodes, start, item, loads, sizes, common, k, shares,
                   options, cut, element_block, node_block);
  };
  return part_mesh("METIS_PartMeshDual", true, {elements, nodes, start, item}, loads, common,
                   {k, shares, nullptr}, options, cut, element_block, node_block, original);
}

EXPORT int METIS_PartMeshNodal(Index* elements, Index* nodes, Index* start, Index* item, Index* loads,
                               Index* sizes, Index* k, Real* shares, Index* options, Index* cut,
                               Index* element_block, Index* node_block) {
  const auto original = [&] {
    return pass_on("METIS_PartMeshNodal", elements, nodes, start, item, loads, sizes, k, shares, options, cut,
                   element_block, node_block);
  };
  return part_mesh("METIS_PartMeshNodal", false, {elements, nodes, start, item}, loads, nullptr,
                   {k, shares, nullptr}, options, cut, element_block, node_block, original);
}

EXPORT int METIS_MeshToDual(Index* elements, Index* nodes, Index* start, Index* item, Index* common,
                            Index* numbering, Index** rows, Index** targets) {
  if (!common) return kInput;
  return mesh_graph({elements, nodes, start, item}, numbering, rows, targets, [&](const Lists& nodes_of) {
    return rows_of_elements(nodes_of, *nodes, *common, *numbering);
  });
}

EXPORT int METIS_MeshToNodal(Index* elements, Index* nodes, Index* start, Index* item, Index* numbering,
                             Index** rows, Index** targets) {
  return mesh_graph({elements, nodes, start, item}, numbering, rows, targets,
                    [&](const Lists& nodes_of) { return rows_of_nodes(nodes_of, *nodes, *numbering); });
}

EXPORT int METIS_SetDefaultOptions(Index* options) {
  if (!options) return kInput;
  std::fill(options, options + kOptions, Index{-1});
  return kOk;
}

EXPORT int METIS_Free(void* pointer) {
  std::free(pointer);
  return kOk;
}

EXPORT int METIS_NodeND(Index* n, Index* rows, Index* targets, Index* loads, Index* options, Index* order,
                        Index* inverse) {
  return pass_on("METIS_NodeND", n, rows, targets, loads, options, order, inverse);
}

EXPORT int METIS_NodeNDP(Index n, Index* rows, Index* targets, Index* loads, Index parts, Index* options,
                         Index* order, Index* inverse, Index* sizes) {
  return pass_on("METIS_NodeNDP", n, rows, targets, loads, parts, options, order, inverse, sizes);
}

EXPORT int METIS_ComputeVertexSeparator(Index* n, Index* rows, Index* targets, Index* loads, Index* options,
                                        Index* size, Index* part) {
  return pass_on("METIS_ComputeVertexSeparator", n, rows, targets, loads, options, size, part);
}

EXPORT int METIS_NodeRefine(Index n, Index* rows, Index* loads, Index* targets, Index* part, Index* marker,
                            Real factor) {
  return pass_on("METIS_NodeRefine", n, rows, loads, targets, part, marker, factor);
}

// For hopbytes_mpi.c, whatever other METIS the program has.
extern "C" __attribute__((visibility("default"),
                          alias("METIS_PartGraphKway"))) decltype(METIS_PartGraphKway) hopbytes_metis_part;

FORTRAN(metis_partgraphkway, METIS_PARTGRAPHKWAY, METIS_PartGraphKway)
FORTRAN(metis_partgraphrecursive, METIS_PARTGRAPHRECURSIVE, METIS_PartGraphRecursive)
FORTRAN(metis_partmeshdual, METIS_PARTMESHDUAL, METIS_PartMeshDual)
FORTRAN(metis_partmeshnodal, METIS_PARTMESHNODAL, METIS_PartMeshNodal)
FORTRAN(metis_meshtodual, METIS_MESHTODUAL, METIS_MeshToDual)
FORTRAN(metis_meshtonodal, METIS_MESHTONODAL, METIS_MeshToNodal)
FORTRAN(metis_setdefaultoptions, METIS_SETDEFAULTOPTIONS, METIS_SetDefaultOptions)
FORTRAN(metis_free, METIS_FREE, METIS_Free)
FORTRAN(metis_nodend, METIS_NODEND, METIS_NodeND)
