// A flow network with supplies and demands at its vertices, in residual form. Every vertex has a load.
#pragma once
#include <cstdint>
#include <vector>

namespace hopbytes {

// The network is built vertex by vertex: clear(); for each vertex in ascending order open(), connect() and
// supply(); finally close().
class FlowNetwork {
 public:
  struct Arc {
    int32_t head, reverse;  // head vertex; index of the reverse arc
    int64_t residual;  // residual capacity
  };
  static constexpr int64_t kInfinite = int64_t{1} << 60;

  void clear(int64_t n) {
    arc_.clear();
    start_.clear();
    terminal_.assign(n, 0);
    load_.resize(n);
    waiting_.assign(n, -1);
    twin_.resize(n);
  }

  void open(int64_t load) {
    const int32_t v = static_cast<int32_t>(start_.size());
    load_[v] = load;
    start_.push_back(size());
    // Arcs from smaller vertices to this one wait in a linked list, which stores the tail in place of the
    // head.
    for (int32_t e = waiting_[v]; e >= 0;) {
      Arc& arc = arc_[e];
      twin_[arc.head] = e;
      arc.head = v;
      e = arc.reverse;
    }
  }

  // Adds an arc from the vertex opened last. The other vertex has to add the reverse arc.
  int32_t connect(int32_t head, int64_t residual) {
    const int32_t v = static_cast<int32_t>(start_.size()) - 1, e = size();
    if (head < v) {
      arc_.push_back({head, twin_[head], residual});
      arc_[twin_[head]].reverse = e;
    } else {
      arc_.push_back({v, waiting_[head], residual});
      waiting_[head] = e;
    }
    return e;
  }

  // Sets the supply of the vertex opened last; a negative amount is a demand.
  void supply(int64_t amount) { terminal_[start_.size() - 1] = amount; }

  void close() { start_.push_back(size()); }

  int32_t n() const { return static_cast<int32_t>(terminal_.size()); }
  int32_t begin(int32_t v) const { return start_[v]; }
  int32_t end(int32_t v) const { return start_[v + 1]; }
  // The work of scanning a vertex with all its arcs.
  int64_t work(int32_t v) const { return 1 + start_[v + 1] - start_[v]; }
  Arc& operator[](int32_t e) { return arc_[e]; }
  const Arc& operator[](int32_t e) const { return arc_[e]; }
  int64_t& terminal(int32_t v) { return terminal_[v]; }
  int64_t load(int32_t v) const { return load_[v]; }
  int64_t back(int32_t e) const { return arc_[arc_[e].reverse].residual; }

  void push(int32_t e, int64_t amount) {
    arc_[e].residual -= amount;
    arc_[arc_[e].reverse].residual += amount;
  }

 private:
  int32_t size() const { return static_cast<int32_t>(arc_.size()); }

  std::vector<Arc> arc_;
  std::vector<int32_t> start_;
  // during construction: the list of waiting arcs per vertex; per tail, its arc to the open vertex
  std::vector<int32_t> waiting_, twin_;
  std::vector<int64_t> terminal_, load_;
};

}  // namespace hopbytes
