// The rounds of a mapping on a graphics processor: clustering, contraction, moves and J, one item at a time.
// This file is compiled twice. g++ compiles it into the core, where a kernel is a loop over its items, in any
// order and by several threads. NVRTC compiles the same text for a GPU, where items are threads. No result
// depends on the order of the items: integers are added, of equal values written by several the value counts,
// and all choices have keys that differ. So the bytes are the same everywhere.
#ifdef __CUDACC__
#define FUNCTION __device__ inline
#define KERNEL(name, ...) extern "C" __global__ void name(const int64_t items, __VA_ARGS__)
#define EACH(i)                                                                            \
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < items; \
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)
#else
#include <atomic>
#include <bit>
#include <cstdint>
#define FUNCTION inline
#define KERNEL(name, ...) inline void name(const Items items, __VA_ARGS__)
#define EACH(i)                                        \
  for (int64_t at = items.begin; at < items.end; ++at) \
    if ([[maybe_unused]] const int64_t i = items.order ? items.order[at] : at; true)
#endif

namespace hopbytes::device {

#ifdef __CUDACC__
typedef unsigned char uint8_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

FUNCTION int64_t add(int64_t& to, int64_t more) {
  return static_cast<int64_t>(atomicAdd(reinterpret_cast<uint64_t*>(&to), static_cast<uint64_t>(more)));
}
FUNCTION void keep_least(int64_t& least, int64_t value) {
  atomicMin(reinterpret_cast<long long*>(&least), static_cast<long long>(value));
}
// Threads of a warp that add to the same place add up among themselves first.
FUNCTION void add_of_key(int64_t* sums, int64_t key, int64_t more) {
  const unsigned same = __match_any_sync(__activemask(), static_cast<uint64_t>(key));
  int64_t sum = 0;
  for (unsigned left = same; left != 0; left &= left - 1) sum += __shfl_sync(same, more, __ffs(left) - 1);
  if (threadIdx.x % 32 == __ffs(same) - 1) add(sums[key], sum);
}
FUNCTION void add_of_all(int64_t& to, int64_t more) {
  for (int apart = 16; apart > 0; apart /= 2) more += __shfl_xor_sync(0xffffffff, more, apart);
  if (threadIdx.x % 32 == 0 && more != 0) add(to, more);
}
FUNCTION void mark(uint8_t& to) { to = 1; }
FUNCTION int bits(uint64_t x) { return x == 0 ? 0 : 64 - __clzll(static_cast<int64_t>(x)); }
#else
// Some of the items 0 .. n - 1, or of a permutation of them.
struct Items {
  int64_t begin, end;
  const int64_t* order = nullptr;
};
FUNCTION int64_t add(int64_t& to, int64_t more) {
  return std::atomic_ref<int64_t>(to).fetch_add(more, std::memory_order_relaxed);
}
FUNCTION void keep_least(int64_t& least, int64_t value) {
  std::atomic_ref<int64_t> shared(least);
  int64_t held = shared.load(std::memory_order_relaxed);
  while (value < held && !shared.compare_exchange_weak(held, value, std::memory_order_relaxed)) {
  }
}
FUNCTION void add_of_key(int64_t* sums, int64_t key, int64_t more) { add(sums[key], more); }
FUNCTION void add_of_all(int64_t& to, int64_t more) {
  if (more != 0) add(to, more);
}
FUNCTION void mark(uint8_t& to) { std::atomic_ref<uint8_t>(to).store(1, std::memory_order_relaxed); }
FUNCTION int bits(uint64_t x) { return static_cast<int>(std::bit_width(x)); }
#endif

constexpr int32_t none = -1;
constexpr int64_t last_turn = 2;  // in which all vertices act, each time twice as many
constexpr int most_near = 32;  // adjacent clusters or blocks that a vertex compares
constexpr int64_t tolerance = 4;  // a move may lose this part of the cost of the arcs inside the block

FUNCTION uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

FUNCTION int64_t weight_of(const int64_t* weight, int64_t arc) { return weight ? weight[arc] : 1; }

// Distances between PEs: a table, or labels in a tree and the cost of the highest bit that differs.
FUNCTION int64_t distance(const uint64_t* label, const int64_t* cost, int64_t k, int32_t a, int32_t b) {
  return label ? cost[bits(label[a] ^ label[b])] : cost[a * k + b];
}

// Sums of weights by cluster or block, in the order of first appearance. What does not fit is left out.
struct Sums {
  int32_t key[most_near];
  int64_t sum[most_near];
  int count = 0;
  FUNCTION int find(int32_t wanted) const {
    int at = 0;
    while (at < count && key[at] != wanted) ++at;
    return at;
  }
  FUNCTION bool add(int32_t wanted, int64_t more) {
    const int at = find(wanted);
    if (at == most_near) return false;
    if (at == count) key[count] = wanted, sum[count++] = 0;
    sum[at] += more;
    return true;
  }
};

// A product of three factors below 2^31 as an exact number.
struct Product {
  uint64_t high, low;
  FUNCTION bool operator<(const Product& other) const {
    return high != other.high ? high < other.high : low < other.low;
  }
};
FUNCTION Product product(uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t square = a * b, low = (square & 0x7fffffff) * c;
  return {(square >> 31) * c + (low >> 31), low & 0x7fffffff};
}

// Finds the first row with a target that is not above the one before.
KERNEL(check_rows, const int64_t* start, const int32_t* adj, int64_t* first_bad) {
  EACH(v) {
    bool bad = false;
    for (int64_t e = start[v] + 1; e < start[v + 1]; ++e) bad |= adj[e] <= adj[e - 1];
    if (bad) keep_least(*first_bad, v);
  }
}

// Counts the arcs of each row that have no equal arc back, or none to another vertex. Rows are sorted.
KERNEL(count_unpaired, const int64_t* start, const int32_t* adj, const int64_t* weight, int64_t* unpaired) {
  EACH(v) {
    unpaired[v] = 0;
    for (int64_t e = start[v]; e < start[v + 1]; ++e) {
      const int32_t u = adj[e];
      int64_t low = start[u], high = start[u + 1];
      while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (adj[middle] < v) low = middle + 1;
        else high = middle;
      }
      const bool paired =
          low < start[u + 1] && adj[low] == v && weight_of(weight, low) == weight_of(weight, e);
      unpaired[v] += !paired || u == v || weight_of(weight, e) == 0;
    }
  }
}

// Writes for each vertex that is alone the adjacent cluster with the best rating w^2 / load that has room. In
// the first rounds few vertices act, as if they were visited in turn: clusters grow where arcs are dense.
// Equal ratings are ordered by a hash of the pair, the same at both ends, so that some pair wants each other.
// Weights and loads are shifted so that their sums are below 2^31; clusters of one community are joined.
KERNEL(prefer, const int64_t* start, const int32_t* adj, const int64_t* weight, const int64_t* load,
       const int32_t* leader, const int64_t* cluster_load, const uint8_t* joined, const int32_t* community,
       int64_t most, int64_t weight_shift, int64_t load_shift, int64_t seed, int64_t turn, int32_t* wanted) {
  EACH(i) {
    const auto v = static_cast<int32_t>(i);
    wanted[v] = none;
    if (joined[v]) continue;
    if (turn < last_turn && mixed(static_cast<uint64_t>(seed ^ v)) >> (64 - last_turn + turn) != 0) continue;
    Sums near;
    for (int64_t e = start[v]; e < start[v + 1]; ++e) near.add(leader[adj[e]], weight_of(weight, e));
    uint64_t best_weight = 0, best_load = 1, best_draw = 0;
    for (int j = 0; j < near.count; ++j) {
      const int32_t c = near.key[j];
      if (cluster_load[c] + load[v] > most || (community && community[c] != community[v])) continue;
      const uint64_t w = static_cast<uint64_t>(near.sum[j]) >> weight_shift;
      const uint64_t own_weight = w == 0 ? 1 : w, l = static_cast<uint64_t>(cluster_load[c]) >> load_shift;
      const uint64_t own_load = l == 0 ? 1 : l;
      const auto low = static_cast<uint64_t>(c < v ? c : v), high = static_cast<uint64_t>(c < v ? v : c);
      const uint64_t draw = mixed(static_cast<uint64_t>(seed) + (low << 32 | high));
      const Product mine = product(own_weight, own_weight, best_load);
      const Product other = product(best_weight, best_weight, own_load);
      if (mine < other) continue;
      // mixed() is one-to-one, so draws of different pairs differ.
      if (!(other < mine) && draw < best_draw) continue;
      best_weight = own_weight, best_load = own_load, best_draw = draw, wanted[v] = c;
    }
  }
}

// Adds up what wants to join each cluster that wants nothing itself. Finds the one that may if not all may.
KERNEL(ask_to_join, const int32_t* wanted, const int64_t* load, int64_t* asked, int64_t* first) {
  EACH(v) {
    const int32_t c = wanted[v];
    if (c == none || wanted[c] != none) continue;
    add(asked[c], load[v]);
    keep_least(first[c], static_cast<int64_t>(mixed(static_cast<uint64_t>(v)) >> 33 << 32) | v);
  }
}

// Joins two that want each other, and to clusters that want nothing those for which there is room.
KERNEL(join, const int32_t* wanted, const int64_t* asked, const int64_t* first, int64_t most,
       const int64_t* cluster_load, int32_t* joins) {
  EACH(v) {
    const int32_t c = wanted[v];
    joins[v] = none;
    if (c == none) continue;
    if (wanted[c] != none) {
      if (wanted[c] == v && c < v) joins[v] = c;
    } else if (cluster_load[c] + asked[c] <= most || (first[c] & 0xffffffff) == v) {
      joins[v] = c;
    }
  }
}

// Carries out what join() has found.
KERNEL(make_joins, const int32_t* joins, const int64_t* load, int32_t* leader, int64_t* cluster_load,
       uint8_t* joined) {
  EACH(v) {
    const int32_t c = joins[v];
    if (c == none) continue;
    leader[v] = c;
    add(cluster_load[c], load[v]);
    mark(joined[v]);
    mark(joined[c]);
  }
}

// Writes the neighbour over the heaviest arc, the first of them; none without neighbours.
KERNEL(find_heaviest, const int64_t* start, const int32_t* adj, const int64_t* weight, int32_t* heaviest) {
  EACH(v) {
    int64_t best = none;
    for (int64_t e = start[v]; e < start[v + 1]; ++e)
      if (best == none || weight_of(weight, e) > weight_of(weight, best)) best = e;
    heaviest[v] = best == none ? none : adj[best];
  }
}

// Adds the vertices, arcs and loads of each cluster.
KERNEL(count_members, const int32_t* map, const int64_t* start, const int64_t* load, int64_t* members,
       int64_t* arcs, int64_t* coarse_load) {
  EACH(v) {
    add(members[map[v]], 1);
    add(arcs[map[v]], start[v + 1] - start[v]);
    add(coarse_load[map[v]], load[v]);
  }
}

// Lists the vertices of each cluster in any order; `next` is where the next one is written.
KERNEL(place_members, const int32_t* map, int64_t* next, int32_t* member) {
  EACH(v) { member[add(next[map[v]], 1)] = static_cast<int32_t>(v); }
}

// Merges the rows of the vertices of each cluster, which it sorts, by hashing into as much space as they have
// arcs. The row begins there, and its length is written.
KERNEL(merge_rows, const int32_t* map, const int64_t* start, const int32_t* adj, const int64_t* weight,
       const int64_t* first_member, int32_t* member, const int64_t* space, int32_t* key, int64_t* sum,
       int64_t* length) {
  EACH(c) {
    const int64_t begin = first_member[c], end = first_member[c + 1];
    for (int64_t gap = (end - begin) / 2; gap > 0; gap /= 2)  // shellsort
      for (int64_t i = begin + gap; i < end; ++i) {
        const int32_t v = member[i];
        int64_t j = i;
        for (; j >= begin + gap && member[j - gap] > v; j -= gap) member[j] = member[j - gap];
        member[j] = v;
      }
    const int64_t base = space[c];
    const auto size = static_cast<uint64_t>(space[c + 1] - base);
    for (int64_t e = base; e < space[c + 1]; ++e) key[e] = none, sum[e] = 0;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t e = start[member[i]]; e < start[member[i] + 1]; ++e) {
        const int32_t d = map[adj[e]];
        if (d == c) continue;
        const uint64_t hash = static_cast<uint32_t>(d) * 0x9e3779b1U;
        auto at = base + static_cast<int64_t>(hash * (size & 0xffffffff) >> 32);
        while (key[at] != none && key[at] != d)
          if (++at == space[c + 1]) at = base;
        key[at] = d;
        sum[at] += weight_of(weight, e);
      }
    int64_t filled = base;
    for (int64_t e = base; e < space[c + 1]; ++e)
      if (key[e] != none) key[filled] = key[e], sum[filled++] = sum[e];
    length[c] = filled - base;
  }
}

// Copies the merged rows to where they belong.
KERNEL(copy_rows, const int64_t* space, const int32_t* key, const int64_t* sum, const int64_t* coarse_start,
       int32_t* coarse_adj, int64_t* coarse_weight) {
  EACH(c) {
    const int64_t shift = space[c] - coarse_start[c];
    for (int64_t e = coarse_start[c]; e < coarse_start[c + 1]; ++e)
      coarse_adj[e] = key[e + shift], coarse_weight[e] = sum[e + shift];
  }
}

// Numbers that the rounds of moves on one graph share.
enum State : int { total_change, best_change, fruitless_rounds, ended, improved, moved, overload };

constexpr int digits = 3, digit_bits = 6, bins = 1 << digit_bits;
constexpr int32_t all_fit = 0x7fffffff;

// Orders vertices that want to move: larger gains come first, by their highest two bits, then a hash decides.
FUNCTION int32_t order_of(int64_t gain, int64_t v) {
  const auto size = static_cast<uint64_t>(gain < 0 ? -gain : gain);
  const int width = bits(size), next = width > 1 ? static_cast<int>(size >> (width - 2) & 1) : 0;
  const int step = size == 0 ? 0 : 2 * width - 1 + next, level = gain < 0 ? 127 + step : 127 - step;
  return level << 10 | static_cast<int32_t>(mixed(static_cast<uint64_t>(v)) >> 54);
}
FUNCTION int32_t first_digits(int32_t order, int64_t count) {
  return static_cast<int32_t>(order >> digit_bits * (digits - count));
}

struct Move {
  int32_t to;  // or none
  int64_t gain;
};

// Finds the adjacent block to which a move gains most, or `far`; equal gains are ordered by the load of the
// block, then by its number. A block has room if load[v] fits in most - block_load, with `passing` in most. A
// loss of a part of the cost of the arcs inside the block is accepted, any with `leaving`.
FUNCTION Move best_move(int64_t v, const int64_t* start, const int32_t* adj, const int64_t* weight,
                        const int64_t* load, const int32_t* block, const int64_t* block_load,
                        const int64_t* most, const uint64_t* label, const int64_t* cost, int64_t k,
                        int32_t far, bool passing, bool leaving) {
  const int32_t own = block[v];
  Sums near;
  bool complete = true;
  for (int64_t e = start[v]; e < start[v + 1]; ++e) complete &= near.add(block[adj[e]], weight_of(weight, e));
  // The cost of the arcs on a block. Where more blocks are adjacent than are compared, all arcs are read.
  auto cost_on = [&](int32_t b) {
    int64_t total = 0;
    if (complete)
      for (int j = 0; j < near.count; ++j) total += near.sum[j] * distance(label, cost, k, b, near.key[j]);
    else
      for (int64_t e = start[v]; e < start[v + 1]; ++e)
        total += weight_of(weight, e) * distance(label, cost, k, b, block[adj[e]]);
    return total;
  };
  int64_t least = 0;
  int32_t best = none;
  for (int j = 0; j <= near.count; ++j) {
    const int32_t b = j < near.count ? near.key[j] : far;
    if (b == own || b == none || most[b] - (passing ? 0 : block_load[b]) < load[v]) continue;
    const int64_t price = cost_on(b);
    const bool less = best == none || price < least ||
                      (price == least &&
                       (block_load[b] < block_load[best] || (block_load[b] == block_load[best] && b < best)));
    if (less) least = price, best = b;
  }
  if (best == none) return {none, 0};
  const int inside = near.find(own);
  const int64_t gained = cost_on(own) - least;
  const int64_t held = inside < near.count ? near.sum[inside] * distance(label, cost, k, own, best) : 0;
  return {!leaving && gained < -(held / tolerance) ? none : best, gained};
}

// Chooses the move of each active vertex. One that moved in the last round rests. Where the last round has
// improved the mapping, this is kept. Full blocks are passed until a round was fruitless.
KERNEL(choose, const int64_t* start, const int32_t* adj, const int64_t* weight, const int64_t* load,
       const int32_t* block, const int64_t* block_load, const int64_t* most, const uint64_t* label,
       const int64_t* cost, int64_t k, const int64_t* state, uint8_t* is_active, uint8_t* rests,
       int32_t* kept, int32_t* target, int64_t* gain) {
  EACH(v) {
    if (state[improved]) kept[v] = block[v];
    if (state[ended] || !is_active[v]) continue;
    is_active[v] = 0;
    if (rests[v]) {
      rests[v] = 0;
      continue;
    }
    const Move found = best_move(v, start, adj, weight, load, block, block_load, most, label, cost, k, none,
                                 state[fruitless_rounds] == 0, false);
    target[v] = found.to, gain[v] = found.gain;
  }
}

// Chooses the move of each vertex of an overloaded block to an adjacent one with room, or to the block that
// `other` names for the own one.
KERNEL(choose_to_leave, const int64_t* start, const int32_t* adj, const int64_t* weight, const int64_t* load,
       const int32_t* block, const int64_t* block_load, const int64_t* most, const uint64_t* label,
       const int64_t* cost, int64_t k, const int32_t* other, int32_t* target, int64_t* gain, int64_t* state) {
  EACH(v) {
    if (v == 0) state[overload] = 0;
    const int32_t own = block[v];
    if (block_load[own] <= most[own]) continue;
    const Move found = best_move(v, start, adj, weight, load, block, block_load, most, label, cost, k,
                                 other[own], false, true);
    target[v] = found.to, gain[v] = found.gain;
  }
}

// Computes the gain of each move again as if all with larger ones were made.
KERNEL(confirm, const int64_t* start, const int32_t* adj, const int64_t* weight, const int32_t* block,
       const uint64_t* label, const int64_t* cost, int64_t k, const int32_t* target, const int64_t* gain,
       uint8_t* confirmed) {
  EACH(v) {
    const int32_t from = block[v], to = target[v];
    if (to == none) continue;
    int64_t gained = 0;
    for (int64_t e = start[v]; e < start[v + 1]; ++e) {
      const int32_t u = adj[e];
      const bool before = target[u] != none && (gain[u] != gain[v] ? gain[u] > gain[v] : u < v);
      const int32_t b = before ? target[u] : block[u];
      gained += weight_of(weight, e) * (distance(label, cost, k, from, b) - distance(label, cost, k, to, b));
    }
    confirmed[v] = gained >= 0;
  }
}

// Adds the loads of those that want to move by group and by the next digit of their order, if the digits
// before it are those at which the room of the group ends. Moves that are not confirmed are given up.
KERNEL(ask, const int32_t* group, const int64_t* load, const int64_t* gain, const uint8_t* confirmed,
       const int32_t* limit, int64_t digit, int64_t k, int32_t* target, uint8_t* is_active, int64_t* sums) {
  EACH(v) {
    if (target[v] == none) continue;
    if (confirmed && !confirmed[v]) {
      target[v] = none, is_active[v] = 1;
      continue;
    }
    const int32_t order = order_of(gain[v], v);
    if (digit > 0 && first_digits(order, digit) != limit[group[v]]) continue;
    add_of_key(sums, first_digits(order, digit + 1) % bins * k + group[v], load[v]);
  }
}

// Finds for each group the next digit at which its room ends, or, with `leaving`, at which enough have left.
KERNEL(limit_of_group, const int64_t* group_load, const int64_t* most, int64_t digit, int64_t leaving,
       int64_t k, int64_t* sums, int64_t* left, int32_t* limit) {
  EACH(b) {
    int64_t room = digit > 0 ? left[b] : leaving ? group_load[b] - most[b] : most[b] - group_load[b];
    int64_t asked[bins];  // read at once, since each read takes long
    for (int32_t i = 0; i < bins; ++i) asked[i] = sums[i * k + b];
    for (int32_t i = 0; i < bins; ++i) sums[i * k + b] = 0;
    int32_t end = 0;
    bool within = true;
    for (int32_t i = 0; i < bins; ++i) {
      within &= leaving ? asked[i] < room : asked[i] <= room;
      if (within) room -= asked[i], ++end;
    }
    left[b] = room;
    if (digit > 0 && limit[b] == all_fit) continue;
    limit[b] = end == bins ? all_fit : (digit > 0 ? limit[b] * bins : 0) + end;
  }
}

// Gives up the moves that are not before the limit of their group, or at it with `leaving`.
KERNEL(give_up, const int32_t* group, const int64_t* gain, const int32_t* limit, int64_t count,
       int64_t leaving, int32_t* target, uint8_t* is_active) {
  EACH(v) {
    if (target[v] == none) continue;
    const int32_t end = limit[group[v]], mine = first_digits(order_of(gain[v], v), count);
    if (leaving ? mine > end : mine >= end) target[v] = none, is_active[v] = 1;
  }
}

// Adds twice what all moves change, of an arc between two a half at each, and moves the loads.
KERNEL(change, const int64_t* start, const int32_t* adj, const int64_t* weight, const int64_t* load,
       const int32_t* block, const uint64_t* label, const int64_t* cost, int64_t k, const int32_t* target,
       int64_t* block_load, int64_t* state) {
  int64_t twice = 0, movers = 0;
  EACH(v) {
    const int32_t from = block[v], to = target[v];
    if (to == none) continue;
    for (int64_t e = start[v]; e < start[v + 1]; ++e) {
      const int32_t u = adj[e], b = block[u];
      const bool both = target[u] != none;
      const int64_t after = distance(label, cost, k, to, both ? target[u] : b);
      twice += weight_of(weight, e) * (after - distance(label, cost, k, from, b)) * (both ? 1 : 2);
    }
    ++movers;
    add_of_key(block_load, from, -load[v]);
    add_of_key(block_load, to, load[v]);
  }
  add_of_all(state[total_change], twice);
  add_of_all(state[moved], movers);
}

// Makes the moves. A mover and its neighbours become active, and it rests for a round.
KERNEL(make_moves, const int64_t* start, const int32_t* adj, int32_t* block, int32_t* target,
       uint8_t* is_active, uint8_t* rests) {
  EACH(v) {
    if (target[v] == none) continue;
    block[v] = target[v];
    target[v] = none;
    rests[v] = 1;
    mark(is_active[v]);
    for (int64_t e = start[v]; e < start[v + 1]; ++e) mark(is_active[adj[e]]);
  }
}

// Judges a round: whether the mapping is the best one, and whether the rounds end. A round is fruitless if it
// gains less than one part in `little` of the gain before.
KERNEL(judge, int64_t little, int64_t most_fruitless, int64_t* state) {
  EACH(i) {
    const int64_t now = state[total_change], best = state[best_change];
    state[improved] = state[moved] > 0 && now < best;
    if (state[ended]) continue;
    state[fruitless_rounds] = best - now > -best / little ? 0 : state[fruitless_rounds] + 1;
    if (now < best) state[best_change] = now;
    state[ended] = state[moved] == 0 || state[fruitless_rounds] >= most_fruitless;
    state[moved] = 0;
  }
}

// Adds up what blocks hold beyond their bounds.
KERNEL(sum_overload, const int64_t* block_load, const int64_t* most, int64_t* state) {
  int64_t sum = 0;
  EACH(b) { sum += block_load[b] > most[b] ? block_load[b] - most[b] : 0; }
  add_of_all(state[overload], sum);
}

// Adds the loads of vertices by group.
KERNEL(sum_loads, const int32_t* group, const int64_t* load, int64_t* sum) {
  EACH(v) { add_of_key(sum, group[v], load[v]); }
}

// Writes the cost of the arcs of each vertex.
KERNEL(cost_of_rows, const int64_t* start, const int32_t* adj, const int64_t* weight, const int32_t* block,
       const uint64_t* label, const int64_t* cost, int64_t k, int64_t* out) {
  EACH(v) {
    int64_t total = 0;
    for (int64_t e = start[v]; e < start[v + 1]; ++e)
      total += weight_of(weight, e) * distance(label, cost, k, block[v], block[adj[e]]);
    out[v] = total;
  }
}

}  // namespace hopbytes::device
