// The rival of bench/swaps.py: change of the cost by an exchange from dense rows, as Brandfass et al. do it.
// Volumes and distances have 16 bits: half the memory of the usual 32, and quicker to read.
#include <cstdint>

// `pairs` holds `count` exchanges (u, v) that are judged, none is made. Returns the sum of all changes.
extern "C" int64_t judge_dense(int64_t n, const int16_t* volume, const int16_t* distance, const int32_t* pe,
                               const int32_t* pairs, int64_t count) {
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t u = pairs[2 * i], v = pairs[2 * i + 1];
    const int16_t *from_u = volume + u * n, *from_v = volume + v * n;
    const int16_t *near_u = distance + pe[u] * n, *near_v = distance + pe[v] * n;
    int64_t change = 0;
    for (int64_t w = 0; w < n; ++w)
      change += static_cast<int64_t>(from_u[w] - from_v[w]) * (near_v[pe[w]] - near_u[pe[w]]);
    total += change + 2 * static_cast<int64_t>(from_u[v]) * near_u[pe[v]];
  }
  return total;
}
