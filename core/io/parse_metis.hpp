// Parses the vertices of METIS graphs.
#pragma once
#include <tuple>

#include "io/tokens.hpp"

namespace hopbytes {

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

// Stores neighbours without weights, of which most files consist, and keeps their numbers out of the state.
// Returns the first byte that is not part of a correct neighbour with a blank or a newline behind it, for
// which take_metis_number() says what it is.
inline size_t take_plain_neighbours(Text text, size_t i, State state, const MetisArrays& out) {
  constexpr size_t most_digits = 10;
  const int64_t n = state[kVertices], own = state[kRow] + 1, first = state[kArcs];
  int64_t arc = first, previous = first > state[kRowBegin] ? out.target[first - 1] : -1;
  bool unsorted = false;
  while (i < text.size()) {
    size_t end = i;
    int64_t value = 0;
    for (; end < text.size() && end < i + most_digits && text[end] >= '0' && text[end] <= '9'; ++end)
      value = value * 10 + (text[end] - '0');
    if (end == text.size() || (text[end] != ' ' && text[end] != '\n') || value < 1 || value > n ||
        value == own || arc == static_cast<int64_t>(out.target.size()))
      break;
    unsorted |= previous >= value - 1;
    previous = value - 1;
    out.target[arc++] = static_cast<int32_t>(previous);
    i = end;
    if (text[i] == '\n') break;
    ++i;
  }
  state[kArcs] = arc;
  state[kField] += arc - first;
  if (unsorted) state[kUnsorted] = 1;
  return i;
}

// Parses the lines of the vertices (the caller has read the header). Returns the number of bytes used.
inline int64_t parse_metis(Text text, bool final, State state, Out<int64_t> indptr, Out<int32_t> targets,
                           Out<int64_t> weights, Out<int64_t> loads) {
  expect_state(state, targets.size(), indptr.size());
  // Weights are stored beside targets, so both arrays need the same length.
  expect(!state[kEdgeWeights] || weights.size() == targets.size(), "weights and targets");
  const MetisArrays out{indptr, targets, weights, loads};
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
      if (!state[kEdgeWeights] && state[kRow] < state[kVertices] &&
          state[kField] >= state[kSizes] + state[kLoads]) {
        const size_t begin = i;
        i = take_plain_neighbours(text, i, state, out);
        if (i > begin) continue;
      }
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

}  // namespace hopbytes
