// The entry points of Scotch 6 and 7 over the C library. Compiled once for each width of Scotch's integers
// (IDXTYPEWIDTH). Where Scotch is behind this library it keeps all objects, and only the calls that divide or
// map a graph are done here. Without it the objects that such calls need are kept here.
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "library/names.hpp"

EXPORT int SCOTCH_numSizeof();

namespace {

using hopbytes::call_original;
using hopbytes::inside_original;
using hopbytes::Log;

#if IDXTYPEWIDTH == 64
using Num = int64_t;
#else
using Num = int32_t;
#endif

// Programs hold these by the sizes of Scotch's header. An object of this library begins with a mark.
constexpr uint64_t kMark = 0x9e70'1b7e'5c07'c4a1;
struct SCOTCH_Graph {
  uint64_t mark;
  Num base, n, arcs;
  const Num *rows, *ends, *loads, *labels, *targets, *weights;
};
struct SCOTCH_Arch {
  uint64_t mark;
  char* text;  // as SCOTCH_archSave writes it; null: not built
};
struct SCOTCH_Strat {
  float imbalance;
  uint32_t mark;  // no address has these leading bits
};
constexpr uint32_t kMarkOfStrategy = kMark >> 32;
constexpr int kSizeOfObject = 128;  // of every kind of object of Scotch's at least

template <class Object> bool own(const Object* object) { return object && object->mark == kMark; }

// The seed that the program set last; Scotch has one per process.
std::atomic<uint64_t> seed{0};

// Returns a function of the Scotch behind this library, null if there is none. Where a program loads Scotch
// by itself, as Python does, it is not among the libraries that follow this one.
void* find_behind(const char* name) {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  std::vector<std::string> loaded;
  const auto collect = [](dl_phdr_info* info, size_t, void* paths) {
    const char* file = std::strrchr(info->dlpi_name, '/');
    if (file && (!std::strncmp(file, "/libscotch", 10) || !std::strncmp(file, "/libptscotch", 12)))
      static_cast<std::vector<std::string>*>(paths)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(collect, &loaded);
  for (const std::string& path : loaded) {
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    void* found = library ? dlsym(library, name) : nullptr;
    if (library) dlclose(library);
    if (found) return found;
  }
  return nullptr;
}

// Calls the function of this name behind this library, or returns `otherwise`.
template <class Result, class... Parameters, class... Arguments>
Result pass_on(Result (*)(Parameters...), const char* name, std::type_identity_t<Result> otherwise,
               Arguments... arguments) {
  const auto function = reinterpret_cast<Result (*)(Parameters...)>(find_behind(name));
  return function ? call_original([&] { return function(arguments...); }) : otherwise;
}
#define PASS(name, otherwise, ...) pass_on(&name, #name, otherwise __VA_OPT__(, ) __VA_ARGS__)
// The same for functions that return nothing.
#define TELL(name, ...) \
  if (const auto function = reinterpret_cast<decltype(&name)>(find_behind(#name))) function(__VA_ARGS__)

// A graph by SCOTCH_graphData.
struct View {
  Num base, n;
  Num *rows, *ends, *loads, *labels;
  Num arcs;
  Num *targets, *weights;
};

// What a graph is mapped to.
struct Target {
  int64_t k;
  std::string machine;  // empty: all PEs are 1 apart
  std::vector<int64_t> capacity;
};

// Of PEs and distances; more are left to Scotch.
constexpr int64_t kLargest = 1 << 28;

// Reads an architecture as SCOTCH_archSave writes it: complete graphs and trees, nothing else.
std::optional<Target> target_in(const char* text) {
  std::istringstream words(text ? text : "");
  std::string name;
  Target target{0, {}, {}};
  int64_t value = 0, size = 0, link = 0;
  if (!(words >> name >> value) || value < 1 || value > kLargest) return {};
  if (name == "cmplt" || name == "cmpltw") {
    target.k = value;
    for (int64_t i = 0; name == "cmpltw" && i < value; ++i) {
      if (!(words >> link) || link < 1) return {};
      target.capacity.push_back(link);
    }
    return target;
  }
  if (name != "tleaf") return {};
  std::vector<int64_t> sizes, distances;
  for (int64_t i = 0; i < value; ++i) {
    if (!(words >> size >> link) || size < 1 || link < 0 || link > kLargest) return {};
    sizes.push_back(size);
    distances.push_back(link);
  }
  // The links from the common ancestor of two leaves down to them.
  for (size_t i = distances.size() - 1; i-- > 0;) distances[i] += distances[i + 1];
  target.k = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > kLargest / target.k) return {};
    target.k *= sizes[i];
    target.machine += "l:" + std::to_string(sizes[i]) + "@" + std::to_string(distances[i]) + " ";
  }
  return target;
}

// Mappings that were begun, by the addresses of their objects.
struct Begun {
  const SCOTCH_Arch* arch;
  Num* part;
};
std::mutex lock_of_mappings;
std::map<const void*, Begun> mappings;

}  // namespace

// ------------------------------------------------------------------------------------------------ graphs

EXPORT int SCOTCH_graphInit(SCOTCH_Graph* graph) {
  if (!graph) return 1;
  if (find_behind("SCOTCH_graphInit")) return PASS(SCOTCH_graphInit, 1, graph);
  *graph = SCOTCH_Graph{kMark, 0, 0, 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
  return 0;
}

EXPORT int SCOTCH_graphBuild(SCOTCH_Graph* graph, Num base, Num n, const Num* rows, const Num* ends,
                             const Num* loads, const Num* labels, Num arcs, const Num* targets,
                             const Num* weights) {
  if (!graph || n < 0 || arcs < 0 || !rows || (arcs > 0 && !targets)) return 1;
  if (!own(graph))
    return PASS(SCOTCH_graphBuild, 1, graph, base, n, rows, ends, loads, labels, arcs, targets, weights);
  *graph = SCOTCH_Graph{kMark, base, n, arcs, rows, ends ? ends : rows + 1, loads, labels, targets, weights};
  return 0;
}

// The arrays of a graph belong to the program.
EXPORT void SCOTCH_graphExit(SCOTCH_Graph* graph) {
  if (own(graph)) graph->mark = 0;
  else if (graph) TELL(SCOTCH_graphExit, graph);
}

EXPORT void SCOTCH_graphFree(SCOTCH_Graph* graph) {
  if (own(graph)) SCOTCH_graphInit(graph);
  else if (graph) TELL(SCOTCH_graphFree, graph);
}

EXPORT void SCOTCH_graphData(const SCOTCH_Graph* graph, Num* base, Num* n, Num** rows, Num** ends,
                             Num** loads, Num** labels, Num* arcs, Num** targets, Num** weights) {
  if (!graph) return;
  if (!own(graph)) {
    TELL(SCOTCH_graphData, graph, base, n, rows, ends, loads, labels, arcs, targets, weights);
    return;
  }
  const auto give = [](auto* to, auto value) {
    if (to) *to = value;
  };
  const auto array = [&](Num** to, const Num* values) { give(to, const_cast<Num*>(values)); };
  give(base, graph->base), give(n, graph->n), give(arcs, graph->arcs);
  array(rows, graph->rows), array(ends, graph->ends), array(loads, graph->loads);
  array(labels, graph->labels), array(targets, graph->targets), array(weights, graph->weights);
}

EXPORT void SCOTCH_graphSize(const SCOTCH_Graph* graph, Num* n, Num* arcs) {
  SCOTCH_graphData(graph, nullptr, n, nullptr, nullptr, nullptr, nullptr, arcs, nullptr, nullptr);
}

// ------------------------------------------------------------------------------------------ architectures

EXPORT int SCOTCH_archInit(SCOTCH_Arch* arch) {
  if (!arch) return 1;
  if (find_behind("SCOTCH_archInit")) return PASS(SCOTCH_archInit, 1, arch);
  *arch = SCOTCH_Arch{kMark, nullptr};
  return 0;
}

EXPORT void SCOTCH_archExit(SCOTCH_Arch* arch) {
  if (own(arch)) std::free(std::exchange(arch->text, nullptr));
  else if (arch) TELL(SCOTCH_archExit, arch);
}

namespace {

int build(SCOTCH_Arch* arch, const std::string& text) {
  if (!target_in(text.c_str())) return 1;
  std::free(arch->text);
  arch->text = strdup(text.c_str());
  return arch->text ? 0 : 1;
}

std::string numbers(const char* name, Num count, const Num* first, const Num* second) {
  std::string text = std::string(name) + " " + std::to_string(count);
  for (Num i = 0; i < count; ++i) {
    text += " " + std::to_string(first[i]);
    if (second) text += " " + std::to_string(second[i]);
  }
  return text;
}

}  // namespace

EXPORT int SCOTCH_archCmplt(SCOTCH_Arch* arch, Num k) {
  if (!arch || k < 1) return 1;
  return own(arch) ? build(arch, "cmplt " + std::to_string(k)) : PASS(SCOTCH_archCmplt, 1, arch, k);
}

EXPORT int SCOTCH_archCmpltw(SCOTCH_Arch* arch, Num k, const Num* loads) {
  if (!arch || k < 1 || !loads) return 1;
  return own(arch) ? build(arch, numbers("cmpltw", k, loads, nullptr))
                   : PASS(SCOTCH_archCmpltw, 1, arch, k, loads);
}

EXPORT int SCOTCH_archTleaf(SCOTCH_Arch* arch, Num levels, const Num* sizes, const Num* links) {
  if (!arch || levels < 1 || !sizes || !links) return 1;
  return own(arch) ? build(arch, numbers("tleaf", levels, sizes, links))
                   : PASS(SCOTCH_archTleaf, 1, arch, levels, sizes, links);
}

EXPORT Num SCOTCH_archSize(const SCOTCH_Arch* arch) {
  if (!arch) return 0;
  if (!own(arch)) return PASS(SCOTCH_archSize, 0, arch);
  const std::optional<Target> target = target_in(arch->text);
  return target ? static_cast<Num>(target->k) : 0;
}

EXPORT const char* SCOTCH_archName(const SCOTCH_Arch* arch) {
  if (!arch) return "";
  if (!own(arch)) return PASS(SCOTCH_archName, "", arch);
  for (const char* name : {"cmpltw", "cmplt", "tleaf"})
    if (arch->text && !std::strncmp(arch->text, name, std::strlen(name))) return name;
  return "";
}

EXPORT int SCOTCH_archSave(const SCOTCH_Arch* arch, FILE* file) {
  if (!arch || !file) return 1;
  if (!own(arch)) return PASS(SCOTCH_archSave, 1, arch, file);
  return arch->text && std::fprintf(file, "%s\n", arch->text) > 0 ? 0 : 1;
}

// --------------------------------------------------------------------------------------------- strategies

EXPORT int SCOTCH_stratInit(SCOTCH_Strat* strategy) {
  if (!strategy) return 1;
  if (find_behind("SCOTCH_stratInit")) return PASS(SCOTCH_stratInit, 1, strategy);
  *strategy = SCOTCH_Strat{0, 0};
  return 0;
}

EXPORT void SCOTCH_stratExit(SCOTCH_Strat* strategy) {
  if (strategy && strategy->mark != kMarkOfStrategy) TELL(SCOTCH_stratExit, strategy);
}
EXPORT void SCOTCH_stratFree(SCOTCH_Strat* strategy) {
  if (strategy && strategy->mark != kMarkOfStrategy) TELL(SCOTCH_stratFree, strategy);
}

EXPORT int SCOTCH_stratSave(const SCOTCH_Strat* strategy, FILE* file) {
  return strategy && file ? PASS(SCOTCH_stratSave, 1, strategy, file) : 1;
}

namespace {

// The imbalance that a text of Scotch allows, which may name it several times: of the outermost method.
std::optional<float> imbalance_in(const char* text) {
  const char* found = text ? std::strstr(text, "bal=") : nullptr;
  if (!found) return {};
  const float value = std::strtof(found + 4, nullptr);
  return value >= 0 && value <= 7 ? std::optional<float>(value) : std::nullopt;
}

constexpr float kUsualImbalance = 0.01F;  // of Scotch

}  // namespace

EXPORT int SCOTCH_stratGraphMap(SCOTCH_Strat* strategy, const char* text) {
  if (!strategy || !text) return 1;
  if (find_behind("SCOTCH_stratGraphMap")) return PASS(SCOTCH_stratGraphMap, 1, strategy, text);
  *strategy = SCOTCH_Strat{imbalance_in(text).value_or(kUsualImbalance), kMarkOfStrategy};
  return 0;
}

EXPORT int SCOTCH_stratGraphMapBuild(SCOTCH_Strat* strategy, Num flags, Num k, double imbalance) {
  if (!strategy || !(imbalance >= 0 && imbalance <= 7)) return 1;
  if (find_behind("SCOTCH_stratGraphMapBuild"))
    return PASS(SCOTCH_stratGraphMapBuild, 1, strategy, flags, k, imbalance);
  *strategy = SCOTCH_Strat{static_cast<float>(imbalance), kMarkOfStrategy};
  return 0;
}

// --------------------------------------------------------------------------------------- blocks and mappings

namespace {

// What a function of Scotch writes to a file, in memory.
template <class Object> std::string written(int (*save)(const Object*, FILE*), const Object* object) {
  char* text = nullptr;
  size_t length = 0;
  FILE* memory = open_memstream(&text, &length);
  if (!memory) throw std::bad_alloc();
  const int status = save(object, memory);
  std::fclose(memory);
  const std::string result(status == 0 && text ? text : "");
  std::free(text);
  return result;
}

float imbalance_of(const SCOTCH_Strat* strategy) {
  if (!strategy) return kUsualImbalance;
  if (strategy->mark == kMarkOfStrategy) return strategy->imbalance;
  void* content = nullptr;
  std::memcpy(static_cast<void*>(&content), strategy, sizeof content);
  if (!content) return kUsualImbalance;
  return imbalance_in(written(&SCOTCH_stratSave, strategy).c_str()).value_or(kUsualImbalance);
}

// Rows one after the other, from 0 or 1 on, as hopbytes.h wants them.
struct Compact {
  explicit Compact(const View& view) : base(view.base), rows(view.rows), targets(view.targets) {
    weights = view.weights;
    bool compact = base == 0 || base == 1;
    for (Num v = 0; v < view.n && compact; ++v) compact = view.ends[v] == view.rows[v + 1];
    if (compact && view.n > 0 && rows[0] == base) return;
    copied_rows.push_back(0);
    for (Num v = 0; v < view.n; ++v) {
      for (Num e = view.rows[v] - base; e < view.ends[v] - base; ++e) {
        if (e < 0 || std::ssize(copied_targets) >= view.arcs) throw std::exception();
        copied_targets.push_back(view.targets[e] - base);
        if (view.weights) copied_weights.push_back(view.weights[e]);
      }
      copied_rows.push_back(static_cast<Num>(copied_targets.size()));
    }
    base = 0;
    rows = copied_rows.data(), targets = copied_targets.data();
    weights = view.weights ? copied_weights.data() : nullptr;
  }
  Num base;
  const Num *rows, *targets, *weights;
  std::vector<Num> copied_rows, copied_targets, copied_weights;
};

// Writes `part`, of which the blocks >= 0 stay if vertices are fixed. Returns -1 if Scotch has to do it.
int map_graph(const char* name, const SCOTCH_Graph* graph, std::optional<Target> target,
              const SCOTCH_Strat* strategy, bool fixed, Num* part, int32_t effort = 0) {
  const Log log(name);
  View view{};
  SCOTCH_graphData(graph, &view.base, &view.n, &view.rows, &view.ends, &view.loads, &view.labels, &view.arcs,
                   &view.targets, &view.weights);
  if (!view.rows || view.n < 0 || !part) return 1;
  // Some programs of other widths are linked with the usual Scotch.
  const bool fits = own(graph) || SCOTCH_numSizeof() == static_cast<int>(sizeof(Num));
  if (!target || !fits) {
    log.write(view.n, view.arcs / 2, target ? target->k : -1, "passed_on", nullptr, -1);
    return -1;
  }
  const Compact compact(view);
  hopbytes_graph given{view.n,     compact.rows, compact.targets, compact.weights,
                       view.loads, IDXTYPEWIDTH, IDXTYPEWIDTH,    static_cast<int32_t>(compact.base)};
  hopbytes_options wanted;
  hopbytes_default_options(&wanted);
  wanted.k = target->k;
  wanted.imbalance = static_cast<double>(imbalance_of(strategy));
  wanted.seed = seed;
  wanted.effort = hopbytes::effort(effort);
  if (!target->capacity.empty()) wanted.capacity = target->capacity.data();
  wanted.machine = target->machine.empty() ? hopbytes::machine_of_environment() : target->machine.c_str();
  std::vector<int32_t> found(view.n), blocks;
  for (Num v = 0; fixed && v < view.n; ++v) {
    const auto last = static_cast<Num>(target->k);  // no block
    blocks.push_back(static_cast<int32_t>(std::clamp<Num>(part[v], -1, last) + compact.base));
  }
  if (!blocks.empty()) wanted.fixed = blocks.data();
  hopbytes_result result{};
  const char* how = nullptr;
  const int status = hopbytes::map_or_cut(given, wanted, found.data(), result, how);
  log.write(view.n, view.arcs / 2, target->k, status >= 0 ? how : "refused", status >= 0 ? &result : nullptr,
            status >= 0 ? 0 : 1);
  if (status == HOPBYTES_TOO_LARGE) return -1;
  for (Num v = 0; status >= 0 && v < view.n; ++v) part[v] = static_cast<Num>(found[v] - compact.base);
  return status >= 0 ? 0 : 1;
}

std::optional<Target> target_of(const SCOTCH_Arch* arch) {
  return target_in(written(&SCOTCH_archSave, arch).c_str());
}

// Calls `work`, and `original` if that declines.
template <class Work, class Original> int mapped(Work work, Original original) {
  if (inside_original) return original();
  const int status = hopbytes::guarded(work, 1, 1);
  return status == -1 ? original() : status;
}

}  // namespace

EXPORT int SCOTCH_graphCheck(const SCOTCH_Graph* graph) {
  if (!graph) return 1;
  if (!own(graph)) return PASS(SCOTCH_graphCheck, 1, graph);
  const auto check = [&] {
    std::vector<Num> part(static_cast<size_t>(graph->n) + 1);  // not empty, which would be a null pointer
    return map_graph("SCOTCH_graphCheck", graph, Target{1, {}, {}}, nullptr, false, part.data());
  };
  return hopbytes::guarded(check, 1, 1);
}

#define PART(name, fixed)                                                                            \
  EXPORT int name(SCOTCH_Graph* graph, Num k, SCOTCH_Strat* strategy, Num* part) {                   \
    if (!graph || k < 1 || !part) return 1;                                                          \
    return mapped([&] { return map_graph(#name, graph, Target{k, {}, {}}, strategy, fixed, part); }, \
                  [&] { return PASS(name, 1, graph, k, strategy, part); });                          \
  }
PART(SCOTCH_graphPart, false)
PART(SCOTCH_graphPartFixed, true)

#define MAP(name, fixed)                                                                             \
  EXPORT int name(SCOTCH_Graph* graph, const SCOTCH_Arch* arch, SCOTCH_Strat* strategy, Num* part) { \
    if (!graph || !arch || !part) return 1;                                                          \
    return mapped([&] { return map_graph(#name, graph, target_of(arch), strategy, fixed, part); },   \
                  [&] { return PASS(name, 1, graph, arch, strategy, part); });                       \
  }
MAP(SCOTCH_graphMap, false)
MAP(SCOTCH_graphMapFixed, true)

// For hopbytes_mpi.c: -1 if Scotch has to do it. PT-Scotch takes longer than Scotch, so there is time.
EXPORT int hopbytes_scotch_map(const SCOTCH_Graph* graph, const SCOTCH_Arch* arch,
                               const SCOTCH_Strat* strategy, Num* part) {
  const auto work = [&] {
    return map_graph("SCOTCH_dgraphMap", graph, target_of(arch), strategy, false, part, 1);
  };
  return graph && arch && part ? hopbytes::guarded(work, 1, 1) : 1;
}

EXPORT int SCOTCH_graphMapInit(const SCOTCH_Graph* graph, void* mapping, const SCOTCH_Arch* arch, Num* part) {
  if (!graph || !mapping || !arch) return 1;
  const int status = own(graph) ? 0 : PASS(SCOTCH_graphMapInit, 1, graph, mapping, arch, part);
  if (status != 0 || inside_original) return status;
  if (!part) return own(graph) ? 1 : 0;
  return hopbytes::guarded(
      [&] {
        const std::lock_guard<std::mutex> hold(lock_of_mappings);
        mappings[mapping] = {arch, part};
        return 0;
      },
      1, 1);
}

EXPORT void SCOTCH_graphMapExit(const SCOTCH_Graph* graph, void* mapping) {
  {
    const std::lock_guard<std::mutex> hold(lock_of_mappings);
    mappings.erase(mapping);
  }
  if (graph && mapping && !own(graph)) TELL(SCOTCH_graphMapExit, graph, mapping);
}

namespace {

std::optional<Begun> begun(const void* mapping) {
  const std::lock_guard<std::mutex> hold(lock_of_mappings);
  const auto found = mappings.find(mapping);
  return found == mappings.end() ? std::nullopt : std::optional<Begun>(found->second);
}

}  // namespace

#define COMPUTE(name, fixed)                                                                             \
  EXPORT int name(SCOTCH_Graph* graph, void* mapping, SCOTCH_Strat* strategy) {                          \
    if (!graph || !mapping) return 1;                                                                    \
    const auto work = [&] {                                                                              \
      const std::optional<Begun> known = begun(mapping);                                                 \
      return known ? map_graph(#name, graph, target_of(known->arch), strategy, fixed, known->part) : -1; \
    };                                                                                                   \
    return mapped(work, [&] { return own(graph) ? 1 : PASS(name, 1, graph, mapping, strategy); });       \
  }
COMPUTE(SCOTCH_graphMapCompute, false)
COMPUTE(SCOTCH_graphMapFixedCompute, true)

// ------------------------------------------------------------------------------------------------- the rest

EXPORT void SCOTCH_randomSeed(Num value) {
  seed = static_cast<uint64_t>(value);
  TELL(SCOTCH_randomSeed, value);
}

// The same arguments give the same blocks at any time, so that there is nothing to reset.
EXPORT void SCOTCH_randomReset() { TELL(SCOTCH_randomReset); }

// NOLINTBEGIN(bugprone-macro-parentheses): names cannot be enclosed.
#define ALLOC(name)                                      \
  EXPORT void* name##Alloc() {                           \
    void* object = PASS(name##Alloc, nullptr);           \
    return object ? object : std::malloc(kSizeOfObject); \
  }                                                      \
  EXPORT int name##Sizeof() { return PASS(name##Sizeof, kSizeOfObject); }
// NOLINTEND(bugprone-macro-parentheses)
ALLOC(SCOTCH_graph)
ALLOC(SCOTCH_arch)
ALLOC(SCOTCH_strat)
ALLOC(SCOTCH_map)
EXPORT int SCOTCH_numSizeof() { return PASS(SCOTCH_numSizeof, static_cast<int>(sizeof(Num))); }
EXPORT void SCOTCH_memFree(void* memory) { std::free(memory); }
EXPORT void SCOTCH_version(int* version, int* release, int* patch) {
  if (version) *version = 7;
  if (release) *release = 0;
  if (patch) *patch = 0;
  TELL(SCOTCH_version, version, release, patch);
}
