// Logarithm and exponential function that give the same bits on every processor.
//
// Those of the C library may differ in the last bit between processors, as the library has several versions
// of them (with and without fused multiply-add). Annealing compares them with costs, so one bit can change a
// mapping. Only operations that IEEE 754 rounds exactly are used here, and the build forbids contraction.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace hopbytes {

// Returns the natural logarithm of a positive normal number; the relative error is below 1e-12.
inline double portable_log(double x) {
  constexpr double log_2 = 0.6931471805599453, root_2 = 1.4142135623730951;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  constexpr uint64_t significand = (uint64_t{1} << 52) - 1, exponent_of_one = uint64_t{1023} << 52;
  double fraction = std::bit_cast<double>((bits & significand) | exponent_of_one);  // 1 <= fraction < 2
  if (fraction > root_2) fraction *= 0.5, ++exponent;
  // log(m) = 2 artanh((m - 1) / (m + 1)), as a series in an argument of at most 0.172.
  const double s = (fraction - 1) / (fraction + 1), square = s * s;
  double series = 1.0 / 15;
  for (const double term : {1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0})
    series = series * square + term;
  return static_cast<double>(exponent) * log_2 + 2 * s * series;
}

// Returns e^x for x <= 700; the relative error is below 1e-12. Below -700 the result is 0.
inline double portable_exp(double x) {
  constexpr double log_2 = 0.6931471805599453, reciprocal = 1.4426950408889634;
  if (x < -700) return 0;
  const double power = std::floor(x * reciprocal + 0.5);
  const double rest = x - power * log_2;  // at most 0.347 in size
  double series = 1;
  for (int i = 12; i > 0; --i) series = 1 + series * rest / i;
  // The power of two is a normal number, and so is the result, which is therefore exact as with ldexp().
  return series * std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(power) + 1023) << 52);
}

// Returns the whole part of `amount` * `percent` / 100 without an intermediate product that could overflow.
inline int64_t percent_of(int64_t amount, int64_t percent) {
  return amount / 100 * percent + amount % 100 * percent / 100;
}

// Returns the smallest integer i with 2^i >= count, for count >= 1.
inline int64_t ceil_log2(int64_t count) {
  return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(count - 1)));
}

}  // namespace hopbytes
