// Parsers of numbers in text that arrives in pieces of any size: METIS graphs and tables of numbers (edge
// lists, matrices).
//
// A parser is called repeatedly with the next piece of the file. It keeps its state in a small array, fills
// arrays allocated by the caller, and stops at the end of the piece, when an array is full (the caller
// enlarges it and calls again) or at the first error. It never reads beyond the piece, and it checks every
// number from the file before it uses the number as an index.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hopbytes {

// Why a parser stopped. reference/text_reference.py has the same numbers.
enum Status : int64_t {
  kDone = 0,  // the piece is used up
  kRoom,  // an output array is full
  kDecimal,  // a number with a point or exponent where only integers were expected so far
  kNotANumber,  // the token is not a number
  kNegative,  // below zero
  kTooLarge,  // above 2^63 - 1
  kOutOfRange,  // a task that does not exist
  kNotWhole,  // a fraction where a whole number is needed
  kLoop,  // an edge from a vertex to itself
  kDuplicate,  // a neighbour that is listed twice
  kMissingWeight,  // the line ends before the weight of the last edge
  kMissingLoad,  // the line ends inside the vertex weights
  kTooManyLines,  // content after the last vertex
  kWrongCount,  // a line with more or fewer numbers than the others
  kEmptyField,  // two commas without a number between them
};

// Entries of the state array. The first group is the position in the file, the second describes the file.
enum Slot : int {
  kStatus,
  kLine,
  kField,
  kComment,
  kBegin,
  kEnd,  // both parsers; begin and end of the faulty token
  kRow,
  kArcs,
  kRowBegin,
  kPending,
  kUnsorted,  // METIS (kArcs: numbers stored, in a table)
  kComma,  // table: a comma was read, its number was not
  // METIS: n, whether there are vertex sizes, loads per vertex, whether there are edge weights
  kVertices,
  kSizes,
  kLoads,
  kEdgeWeights,
  // table; bit c of kWholeColumns: column c holds whole numbers
  kColumns,
  kTaskColumns,
  kTaskLimit,
  kWholeColumns,
  kComments,  // METIS: comment lines between those of the vertices
  kSlots
};

constexpr size_t kLongestToken = 4096;

using State = std::span<int64_t>;
using Text = std::span<const uint8_t>;

inline bool is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool ends_token(uint8_t c) { return is_blank(c) || c == '\n' || c == ',' || c == '#' || c == '%'; }

// One token [begin, end) of a piece. `cut` means that the piece may end inside the token.
struct Token {
  size_t begin, end;
  bool cut;
};

inline Token token_at(Text text, size_t begin, bool final) {
  size_t end = begin;
  while (end < text.size() && !ends_token(text[end])) ++end;
  return {begin, end, end == text.size() && !final && end - begin < kLongestToken};
}

// Reads an unsigned integer, or returns why the token is not one.
inline Status whole_number(Text text, const Token& token, int64_t& value) {
  uint64_t sum = 0;
  bool huge = false;
  if (token.end - token.begin >= kLongestToken) return kNotANumber;
  for (size_t i = token.begin; i < token.end; ++i) {
    const unsigned digit = text[i] - unsigned{'0'};
    if (digit > 9) {
      if (text[i] == '-' && i == token.begin && token.end - i > 1) return kNegative;
      return kNotANumber;
    }
    // The product can overflow only from the 19th digit on.
    if (i - token.begin >= 18 && sum > (static_cast<uint64_t>(INT64_MAX) - digit) / 10) huge = true;
    if (!huge) sum = sum * 10 + digit;
  }
  value = static_cast<int64_t>(sum);
  return huge ? kTooLarge : kDone;
}

inline Status real_number(Text text, const Token& token, double& value) {
  const char* first = reinterpret_cast<const char*>(text.data()) + token.begin;
  const char* last = first + (token.end - token.begin);
  const auto [stop, error] = std::from_chars(first, last, value);
  if (token.end - token.begin >= kLongestToken || stop != last || error == std::errc::invalid_argument ||
      !std::isfinite(value))
    return kNotANumber;
  // The error "out of range" includes numbers that are too small, which are read as 0.
  if (error == std::errc::result_out_of_range) {
    const bool tiny = std::find(first, last, '-') != last && *first != '-';
    if (!tiny) return kTooLarge;
    value = 0;
  }
  if (value < 0) return kNegative;
  return value >= 9223372036854775808.0 ? kTooLarge : kDone;
}

inline bool looks_decimal(Text text, const Token& token) {
  bool digit = false, mark = false;
  for (size_t i = token.begin; i < token.end; ++i) {
    if (text[i] >= '0' && text[i] <= '9') digit = true;
    else if (text[i] == '.' || text[i] == 'e' || text[i] == 'E') mark = true;
    else if (text[i] != '-' && text[i] != '+') return false;
  }
  return digit && mark;
}

inline int64_t stop(State state, Status status, const Token& token) {
  state[kStatus] = status;
  state[kBegin] = static_cast<int64_t>(token.begin);
  state[kEnd] = static_cast<int64_t>(std::min(token.end, token.begin + kLongestToken));
  return static_cast<int64_t>(token.begin);
}

// Skips to the end of the line, where the newline remains. Returns false if the piece ends first.
inline bool skip_comment(Text text, size_t& i) {
  const void* found = std::memchr(text.data() + i, '\n', text.size() - i);
  i = found ? static_cast<const uint8_t*>(found) - text.data() : text.size();
  return found != nullptr;
}

// ---------------------------------------------------------------- METIS

struct MetisArrays {
  std::span<int64_t> indptr;
  std::span<int32_t> target;
  std::span<int64_t> weight;  // empty without edge weights
  std::span<int64_t> load;    // empty without vertex weights
};

// Sorts a finished row together with its weights. Returns whether a neighbour occurs twice.
inline bool sort_row(const MetisArrays& out, int64_t begin, int64_t end) {
  if (out.weight.empty()) {
    std::sort(out.target.begin() + begin, out.target.begin() + end);
  } else {
    std::vector<std::pair<int32_t, int64_t>> row(end - begin);
    for (int64_t e = begin; e < end; ++e) row[e - begin] = {out.target[e], out.weight[e]};
    std::sort(row.begin(), row.end());
    for (int64_t e = begin; e < end; ++e) std::tie(out.target[e], out.weight[e]) = row[e - begin];
  }
  return std::adjacent_find(out.target.begin() + begin, out.target.begin() + end) != out.target.begin() + end;
}

// Checks the line of vertex kRow, which is complete, and closes the row.
inline Status finish_vertex(State state, const MetisArrays& out) {
  const int64_t row = state[kRow];
  if (row + 1 >= static_cast<int64_t>(out.indptr.size())) return kRoom;
  if (state[kField] < state[kSizes] + state[kLoads]) return kMissingLoad;
  if (state[kPending]) return kMissingWeight;
  if (state[kUnsorted] && sort_row(out, state[kRowBegin], state[kArcs])) return kDuplicate;
  out.indptr[row + 1] = state[kArcs];
  state[kRow] = row + 1;
  state[kRowBegin] = state[kArcs];
  state[kField] = state[kUnsorted] = 0;
  return kDone;
}

// Stores one number of a vertex line: a size, loads, then neighbours with or without weights.
inline Status take_metis_number(State state, const MetisArrays& out, int64_t value) {
  const int64_t row = state[kRow], field = state[kField], arc = state[kArcs];
  if (row >= state[kVertices]) return kTooManyLines;
  if (field < state[kSizes] + state[kLoads]) {
    if (field == state[kSizes]) {  // of several loads per vertex the first one counts
      if (row >= static_cast<int64_t>(out.load.size())) return kRoom;
      out.load[row] = value;
    }
  } else if (state[kPending]) {
    out.weight[arc - 1] = value;
    state[kPending] = 0;
  } else {
    if (value < 1 || value > state[kVertices]) return kOutOfRange;
    if (value == row + 1) return kLoop;
    if (arc >= static_cast<int64_t>(out.target.size())) return kRoom;
    const int32_t target = static_cast<int32_t>(value - 1);
    if (arc > state[kRowBegin] && out.target[arc - 1] >= target) state[kUnsorted] = 1;
    out.target[arc] = target;
    state[kArcs] = arc + 1;
    state[kPending] = state[kEdgeWeights];
  }
  ++state[kField];
  return kDone;
}

// Parses the lines of the vertices (the caller has read the header). Returns the number of bytes used.
inline int64_t parse_metis(Text text, bool final, State state, const MetisArrays& out) {
  size_t i = 0;
  Status status = kDone;
  while (i < text.size()) {
    const uint8_t c = text[i];
    if (state[kComment]) {
      if (!skip_comment(text, i)) break;
      state[kComment] = 0;
      ++state[kLine];
      ++i;
    } else if (is_blank(c)) {
      ++i;
    } else if (c == '\n') {
      if (state[kRow] < state[kVertices] && (status = finish_vertex(state, out)) != kDone)
        return stop(state, status, {i, i, false});
      ++state[kLine];
      ++i;
    } else if (c == '%' && state[kField] == 0) {
      state[kComment] = 1;
      state[kComments] += state[kRow] < state[kVertices];
    } else {
      const Token token = token_at(text, i, final);
      int64_t value = 0;
      if (token.cut) break;
      if ((status = whole_number(text, token, value)) != kDone || token.begin == token.end ||
          (status = take_metis_number(state, out, value)) != kDone)
        return stop(state, status == kDone ? kNotANumber : status, token);
      i = token.end;
    }
  }
  // A file may end without a newline. An empty last line still is the line of an isolated vertex.
  if (final && i == text.size() && state[kRow] < state[kVertices] &&
      (state[kField] > 0 || state[kRow] + 1 == state[kVertices]) &&
      (status = finish_vertex(state, out)) != kDone)
    return stop(state, status, {i, i, false});
  state[kStatus] = kDone;
  return static_cast<int64_t>(i);
}

// ---------------------------------------------------------------- tables

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

// Parses lines of kColumns numbers each, separated by blanks or single commas, into `out` row by row. '#' and
// '%' start a comment. Value is int64_t or double. Returns the number of bytes used.
template <class Value>
int64_t parse_table(Text text, bool final, State state, std::span<Value> out) {
  static_assert(std::is_same_v<Value, int64_t> || std::is_same_v<Value, double>);
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
      state[kField] = state[kComment] = 0;
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
      i = token.end;
    }
  }
  if (final && i == text.size())
    if (const Status fault = line_fault(); fault != kDone) return stop(state, fault, {i, i, false});
  state[kStatus] = kDone;
  return static_cast<int64_t>(i);
}

}  // namespace hopbytes
