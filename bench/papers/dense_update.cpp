// The rival of bench/papers/swaps.py: change of the cost by an exchange from dense rows, as Brandfass et al. do it.
#include <cstdint>

// `pairs` holds `count` exchanges (u, v) that are judged, none is made. Returns the sum of all changes.
template <class Number>
int64_t judge(int64_t n, const Number* volume, const Number* distance, const int32_t* pe,
              const int32_t* pairs, int64_t count) {
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t u = pairs[2 * i], v = pairs[2 * i + 1];
    const Number *from_u = volume + u * n, *from_v = volume + v * n;
    const Number *near_u = distance + pe[u] * n, *near_v = distance + pe[v] * n;
    int64_t change = 0;
    for (int64_t w = 0; w < n; ++w)
      change += static_cast<int64_t>(from_u[w] - from_v[w]) * (near_v[pe[w]] - near_u[pe[w]]);
    total += change + 2 * static_cast<int64_t>(from_u[v]) * near_u[pe[v]];
  }
  return total;
}

extern "C" {
int64_t judge_32(int64_t n, const int32_t* volume, const int32_t* distance, const int32_t* pe,
                 const int32_t* pairs, int64_t count) {
  return judge(n, volume, distance, pe, pairs, count);
}
int64_t judge_16(int64_t n, const int16_t* volume, const int16_t* distance, const int32_t* pe,
                 const int32_t* pairs, int64_t count) {
  return judge(n, volume, distance, pe, pairs, count);
}
}
