// A random number generator that gives the same numbers on every platform and with every library version.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace hopbytes {

// SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixer, so that streams can be derived by hashing. The
// step of the counter is 2^64 over the golden ratio, whose multiples lie evenly: hash tables use it, too.
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
inline uint64_t mix(uint64_t x) { return mixed(x + kGolden); }

// The seed of a subproblem depends only on its position, never on the thread that solves it or on time.
inline uint64_t derive(uint64_t seed, uint64_t place) {
  return mix(mix(seed) ^ (place * 0xd1342543de82ef95ULL));
}

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(mix(seed)) {}
  uint64_t next() { return mixed(state_ += kGolden); }
  // Uniform in 0..bound-1 (bound > 0), by multiplication. The bias is below 2^-32 and does not matter here.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

  // Whether both give the same numbers from now on.
  bool operator==(const Rng&) const = default;

  template <class Sequence> void shuffle(Sequence& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace hopbytes
