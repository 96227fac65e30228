// Fuzzing the compiled text parsers: any bytes, cut anywhere, into arrays of any size. The first bytes of an
// input choose the options. Pieces are copied to heap blocks of their exact size, so that the address
// sanitizer sees the first byte read too far, and the result must not depend on the cuts.
//
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I core tests/fuzz/fuzz_parse.cpp -o fuzz
//   ./fuzz -max_total_time=600
//
// Without libFuzzer (-DSTANDALONE) a loop mutates a few valid files; the arguments are rounds and seed:
//   g++ -std=c++20 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover -DSTANDALONE
//       -I core tests/fuzz/fuzz_parse.cpp -o fuzz; ./fuzz 1000000 1
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "io/parse_metis.hpp"
#include "io/parse_table.hpp"

using namespace hopbytes;

namespace {

struct Result {
  std::vector<int64_t> state = std::vector<int64_t>(kSlots, 0);
  std::vector<int64_t> indptr, weight, load, values;
  std::vector<int32_t> target;
  std::vector<double> reals;

  int64_t status() const { return state[kStatus]; }
};

void require(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// Feed pieces of `step` bytes. `parse` is called on blocks of exact size, `room` enlarges full arrays.
template <class Parse, class Room>
void feed(Text text, size_t step, State state, const Parse& parse, const Room& room) {
  std::vector<uint8_t> rest;
  size_t position = 0;
  for (bool final = false; !final;) {
    final = position == text.size();
    const size_t next = std::min(text.size(), position + step);
    rest.insert(rest.end(), text.begin() + position, text.begin() + next);
    position = next;
    for (int again = 0; again < 10'000; ++again) {
      const std::vector<uint8_t> piece(rest.begin(), rest.end());
      const int64_t used = parse(Text(piece), final);
      require(used >= 0 && used <= static_cast<int64_t>(piece.size()), "used bytes lie in the piece");
      rest.erase(rest.begin(), rest.begin() + used);
      if (state[kStatus] != kRoom) break;
      room();
    }
    require(state[kStatus] != kRoom, "room ends the wish for room");
    if (state[kStatus] != kDone) return;
  }
  require(rest.empty(), "all is used up at the end");
}

Result metis(Text text, size_t step, uint8_t options, int64_t n, size_t first) {
  Result r;
  r.state[kVertices] = n;
  r.state[kSizes] = options & 1;
  r.state[kLoads] = (options >> 1) & 3;
  r.state[kEdgeWeights] = (options >> 3) & 1;
  r.indptr.assign(std::min<size_t>(n, first) + 1, 0);
  r.target.assign(first, 0);
  r.weight.assign(r.state[kEdgeWeights] ? first : 0, 0);
  r.load.assign(r.state[kLoads] ? std::min<size_t>(n, first) : 0, 0);
  feed(
      text, step, r.state,
      [&](Text piece, bool final) {
        return parse_metis(piece, final, r.state, {r.indptr, r.target, r.weight, r.load});
      },
      [&] {
        r.indptr.resize(n + 1);
        if (r.state[kLoads]) r.load.resize(n);
        r.target.resize(2 * r.target.size() + 1);
        if (r.state[kEdgeWeights]) r.weight.resize(r.target.size());
      });
  const int64_t rows = r.state[kRow], arcs = r.state[kArcs];
  require(rows >= 0 && rows <= n && arcs >= 0 && arcs <= static_cast<int64_t>(r.target.size()), "counts");
  if (r.status() == kDone) {
    for (int64_t i = 0; i < rows; ++i) {
      require(r.indptr[i] <= r.indptr[i + 1], "rows ascend");
      for (int64_t e = r.indptr[i]; e < r.indptr[i + 1]; ++e)
        require(r.target[e] >= 0 && r.target[e] < n && r.target[e] != i &&
                    (e == r.indptr[i] || r.target[e - 1] < r.target[e]),
                "a row is sorted, without loops and duplicates");
    }
    r.indptr.resize(rows + 1);
    r.target.resize(rows == n ? arcs : 0);
    r.weight.resize(rows == n && r.state[kEdgeWeights] ? arcs : 0);
    r.load.resize(r.state[kLoads] ? rows : 0);
  }
  return r;
}

template <class Value>
Result table(Text text, size_t step, uint8_t options, int64_t columns, size_t first) {
  Result r;
  r.state[kColumns] = columns;
  r.state[kTaskColumns] = options & 3;
  r.state[kTaskLimit] = 1000;
  r.state[kWholeColumns] = options >> 2;
  auto& values = [&]() -> std::vector<Value>& {
    if constexpr (std::is_same_v<Value, double>) return r.reals;
    else return r.values;
  }();
  values.assign(first, 0);
  feed(
      text, step, r.state,
      [&](Text piece, bool final) { return parse_table<Value>(piece, final, r.state, values); },
      [&] { values.resize(2 * values.size() + 1); });
  require(r.state[kArcs] >= 0 && r.state[kArcs] <= static_cast<int64_t>(values.size()), "count of values");
  values.resize(r.state[kArcs]);
  for (Value value : values) require(value >= 0, "no value is negative");
  return r;
}

void same(const Result& whole, const Result& pieces) {
  require(whole.status() == pieces.status() && whole.state[kLine] == pieces.state[kLine],
          "same end for all cuts");
  if (whole.status() != kDone) return;
  require(whole.indptr == pieces.indptr && whole.target == pieces.target && whole.weight == pieces.weight &&
              whole.load == pieces.load && whole.values == pieces.values && whole.reals == pieces.reals,
          "same numbers for all cuts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const uint8_t kind = data[0] % 3, options = data[1];
  const int64_t small = data[2] % 9;
  const size_t step = 1 + data[3] % 60, first = data[3] / 60;
  const Text text(data + 4, size - 4);
  const size_t all = text.size() + 1;
  if (kind == 0) same(metis(text, all, options, small, all), metis(text, step, options, small, first));
  const int64_t columns = 1 + small / 2;
  if (kind == 1)
    same(table<int64_t>(text, all, options, columns, all),
         table<int64_t>(text, step, options, columns, first));
  if (kind == 2)
    same(table<double>(text, all, options, columns, all), table<double>(text, step, options, columns, first));
  return 0;
}

#ifdef STANDALONE
#include <random>

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 100'000;
  std::mt19937_64 random(argc > 2 ? std::atol(argv[2]) : 1);
  const std::vector<std::string> seeds = {
      std::string("\0\0\x04\x07", 4) + "2 3\n1\n1 4\n3\n",
      std::string("\0\x08\x04\x05", 4) + "2 5 3 6\n1 5\n4 7 1 6\n3 7\n",
      std::string("\0\x0f\x03\x05", 4) + "1 2 3 2 5\n% c\n1 2 3 1 5 3 9223372036854775807\r\n0 0 0 2 1\n",
      std::string("\x01\x02\x04\x05", 4) + "0 1 5\n# c\n1,0,7\n2\t1 9223372036854775807 # x\n",
      std::string("\x02\x0e\x04\x05", 4) + "0 1 5.5\n1 , 0 , 1e5\n2 1 0.0001\n",
      std::string("\x02\0\x08\x01", 4) + "0 1 5.5 1e-400 1e400\n",
  };
  const std::string pieces[] = {" ",
                                "\n",
                                "%",
                                "#",
                                ",",
                                "-",
                                ".",
                                "e",
                                "0",
                                "1",
                                "9",
                                "1e5",
                                "nan",
                                "inf",
                                "99999999999999999999",
                                "9223372036854775808",
                                "\r",
                                "\t",
                                std::string(1, '\0'),
                                "\xff"};
  for (long round = 0; round < rounds; ++round) {
    std::string input = seeds[random() % seeds.size()];
    for (int change = random() % 6; change > 0; --change) {
      const size_t place = random() % (input.size() + 1);
      switch (random() % 5) {
        case 0:
          input.insert(place, pieces[random() % std::size(pieces)]);
          break;
        case 1:
          input.erase(place, 1 + random() % 4);
          break;
        case 2:
          if (place < input.size()) input[place] = static_cast<char>(random());
          break;
        case 3:
          input += input.substr(place);
          break;
        case 4:
          if (place < input.size()) input[place] = pieces[random() % std::size(pieces)][0];
          break;
      }
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }
  std::printf("%ld inputs, no fault\n", rounds);
}
#endif
