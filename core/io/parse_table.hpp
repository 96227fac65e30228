// Parses tables of numbers: edge lists, matrices.
#pragma once
#include <type_traits>

#include "io/tokens.hpp"

namespace hopbytes {

inline Status take_number(Text text, const Token& token, State, int64_t& value) {
  const Status status = whole_number(text, token, value);
  return status != kDone && looks_decimal(text, token) ? kDecimal : status;
}

inline Status take_number(Text text, const Token& token, State state, double& value) {
  const Status status = real_number(text, token, value);
  if (status != kDone) return status;
  return (state[kWholeColumns] >> std::min<int64_t>(state[kField], 62) & 1) && value != std::floor(value)
             ? kNotWhole
             : kDone;
}

// Parses lines of kColumns numbers each, separated by blanks or single commas, into `out` row by row; a line
// has one of both, for in "0 1 1,000" the comma would be part of a number. '#' and '%' start a comment. Value
// is int64_t or double. Returns the number of bytes used.
template <class Value>
int64_t parse_table(Text text, bool final, State state, std::span<Value> out) {
  static_assert(std::is_same_v<Value, int64_t> || std::is_same_v<Value, double>);
  expect_state(state, out.size(), 0);
  size_t i = 0;
  const int64_t columns = state[kColumns];
  const auto line_fault = [&]() -> Status {
    if (state[kComma]) return kEmptyField;
    return state[kField] != 0 && state[kField] != columns ? kWrongCount : kDone;
  };
  while (i < text.size()) {
    const uint8_t c = text[i];
    if (c == '\n') {
      if (const Status fault = line_fault(); fault != kDone) return stop(state, fault, {i, i, false});
      state[kField] = state[kComment] = state[kSeparator] = 0;
      ++state[kLine];
      ++i;
    } else if (state[kComment]) {
      skip_comment(text, i);
    } else if (is_blank(c)) {
      ++i;
    } else if (c == ',') {
      if (state[kComma] || state[kField] == 0) return stop(state, kEmptyField, {i, i + 1, false});
      state[kComma] = 1;
      ++i;
    } else if (c == '#' || c == '%') {
      state[kComment] = 1;
    } else {
      const Token token = token_at(text, i, final);
      if (token.cut) break;
      const int64_t separator = state[kField] == 0 ? 0 : 1 + state[kComma];
      if (state[kSeparator] != 0 && separator != state[kSeparator]) return stop(state, kMixed, token);
      if (state[kField] >= columns) return stop(state, kWrongCount, token);
      if (state[kArcs] >= static_cast<int64_t>(out.size())) return stop(state, kRoom, token);
      Value value = 0;
      Status status = take_number(text, token, state, value);
      if (status == kDone && state[kField] < state[kTaskColumns] &&
          value > static_cast<Value>(state[kTaskLimit]))
        status = kOutOfRange;
      if (status != kDone) return stop(state, status, token);
      out[state[kArcs]++] = value;
      ++state[kField];
      state[kComma] = 0;
      state[kSeparator] = separator;
      i = token.end;
    }
  }
  if (final && i == text.size())
    if (const Status fault = line_fault(); fault != kDone) return stop(state, fault, {i, i, false});
  state[kStatus] = kDone;
  return static_cast<int64_t>(i);
}

}  // namespace hopbytes
