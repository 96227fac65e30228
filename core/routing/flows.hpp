// Directed communication between groups, indexed from both ends, and the partners of each group.
#pragma once
#include "graph/csr.hpp"
#include "util/bucket_order.hpp"

namespace hopbytes {

// A group sends and receives through the ports of its place: one port, or several adapters in turn if its
// tasks are near several of them. An arc then names the port at either end. Port q of place p has the number
// p x count + q.
struct Ports {
  int32_t count = 1;
  In<int32_t> out = {}, in = {};  // of every arc; empty if there is one port
};

// Directed arcs between groups, also by target, without arcs of a group to itself and without volume.
class Flows {
 public:
  explicit Flows(const Csr& arcs, const Ports& ports = {})
      : arcs_(arcs),
        ports_(ports),
        source_(arcs.m()),
        back_(arcs.m(), arcs.n(), [&](int64_t e) { return arcs.target[e]; }) {
    for (int32_t i = 0; i < n(); ++i)
      std::fill(source_.begin() + arcs_.indptr[i], source_.begin() + arcs_.indptr[i + 1], i);
  }

  int32_t n() const { return static_cast<int32_t>(arcs_.n()); }
  int64_t m() const { return arcs_.m(); }
  int32_t source(int64_t arc) const { return source_[arc]; }
  int32_t target(int64_t arc) const { return arcs_.target[arc]; }
  int64_t volume(int64_t arc) const { return arcs_.w(arc); }
  bool counts(int64_t arc) const { return source_[arc] != arcs_.target[arc] && arcs_.w(arc) > 0; }

  int32_t ports() const { return ports_.count; }
  // The numbers of the ports at both ends of an arc whose groups are on these places.
  int32_t from(int64_t arc, int32_t place) const {
    return ports_.count == 1 ? place : place * ports_.count + ports_.out[arc];
  }
  int32_t to(int64_t arc, int32_t place) const {
    return ports_.count == 1 ? place : place * ports_.count + ports_.in[arc];
  }

  // Calls visit(arc) once for every arc that leaves or reaches a group.
  template <class Visit> void at(int32_t group, Visit&& visit) const {
    for (int64_t e = arcs_.indptr[group]; e < arcs_.indptr[group + 1]; ++e)
      if (counts(e)) visit(e);
    for (const int64_t e : back_.of(group))
      if (counts(e)) visit(e);
  }
  int32_t other_end(int64_t arc, int32_t group) const {
    return source_[arc] == group ? target(arc) : source_[arc];
  }
  // Returns the communication volume of a group, sent and received.
  int64_t communication_volume(int32_t group) const {
    int64_t sum = 0;
    at(group, [&](int64_t e) { sum += volume(e); });
    return sum;
  }

 private:
  Csr arcs_;
  Ports ports_;
  std::vector<int32_t> source_;
  Buckets<int64_t> back_;  // arcs by target
};

// With which groups each group communicates.
class Partners {
 public:
  // What a group sends to another one and receives from it.
  struct Partner {
    int32_t group;
    int64_t out = 0, in = 0;
  };

  explicit Partners(const Flows& flows) : start_(flows.n() + 1, 0) {
    std::vector<int64_t> slot(flows.n(), -1);
    for (int32_t g = 0; g < flows.n(); ++g) {
      const int64_t first = start_[g];
      flows.at(g, [&](int64_t e) {
        const int32_t other = flows.other_end(e, g);
        if (slot[other] < first)
          slot[other] = static_cast<int64_t>(partner_.size()), partner_.push_back({other});
        (flows.source(e) == g ? partner_[slot[other]].out : partner_[slot[other]].in) += flows.volume(e);
      });
      start_[g + 1] = static_cast<int64_t>(partner_.size());
    }
  }

  In<Partner> of(int32_t group) const {
    return {partner_.data() + start_[group], static_cast<size_t>(start_[group + 1] - start_[group])};
  }

 private:
  std::vector<int64_t> start_;
  std::vector<Partner> partner_;
};

}  // namespace hopbytes
