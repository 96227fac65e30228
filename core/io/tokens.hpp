// What parsers of numbers share, for text that arrives in pieces of any size: state, tokens, numbers.
//
// A parser is called repeatedly with the next piece of the file. It keeps its state in a small array, fills
// arrays allocated by the caller, and stops at the end of the piece, when an array is full (the caller
// enlarges it and calls again) or at the first error. It never reads beyond the piece, and it checks every
// number from the file before it uses the number as an index.
#pragma once
#include <charconv>
#include <cmath>
#include <cstring>

#include "graph/checked.hpp"

namespace hopbytes {

// Why a parser stopped. kernels/records.py has the same numbers.
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
  kMixed,  // a line whose numbers are separated by a comma here and by blanks there
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
  kSeparator,  // table: what separates the numbers of this line, 1 blanks, 2 commas; 0 before the second one
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

// Throws unless a parser may go on in arrays that hold so many numbers and rows.
inline void expect_state(State state, size_t numbers, size_t rows) {
  expect(state.size() == kSlots, "entries of a parser's state");
  expect(state[kArcs] >= 0 && state[kArcs] <= static_cast<int64_t>(numbers) && state[kRow] >= 0 &&
             state[kRow] <= static_cast<int64_t>(rows),
         "a parser's state and arrays");
}

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

// Returns where the number of a token begins: behind a plus sign, as C and Fortran read and may write it.
inline size_t after_plus(Text text, const Token& token) {
  const bool plus = token.end - token.begin > 1 && text[token.begin] == '+' && text[token.begin + 1] != '-';
  return token.begin + (plus ? 1 : 0);
}

// Reads an unsigned integer, or returns why the token is not one.
inline Status whole_number(Text text, const Token& token, int64_t& value) {
  uint64_t sum = 0;
  bool huge = false;
  if (token.end - token.begin >= kLongestToken) return kNotANumber;
  for (size_t i = after_plus(text, token); i < token.end; ++i) {
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
  const char* first = reinterpret_cast<const char*>(text.data()) + after_plus(text, token);
  const char* last = reinterpret_cast<const char*>(text.data()) + token.end;
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

}  // namespace hopbytes
