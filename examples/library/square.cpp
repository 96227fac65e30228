// The vertices of a square lattice on 2 nodes of 4 cores, and its blocks by KaHIP's function.
// c++ square.cpp $(python -m hopbytes.config --cflags --libs) -o square
#include <hopbytes_kahip.h>

#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  constexpr int side = 32, n = side * side;
  std::vector<int> rows{0}, targets, part(n);
  for (int v = 0; v < n; ++v) {
    const int x = v % side, y = v / side;
    if (y > 0) targets.push_back(v - side);
    if (x > 0) targets.push_back(v - 1);
    if (x < side - 1) targets.push_back(v + 1);
    if (y < side - 1) targets.push_back(v + side);
    rows.push_back(static_cast<int>(targets.size()));
  }
  hopbytes_graph graph{};
  graph.n = n;
  graph.rows = rows.data();
  graph.targets = targets.data();
  graph.index_bits = graph.weight_bits = 32;
  hopbytes_options options;
  hopbytes_default_options(&options);
  options.machine = "node:2@10 core:4@1";
  hopbytes_result result{};
  const int status = hopbytes_map(&graph, &options, part.data(), &result);
  if (status < 0) {
    std::cerr << "hopbytes: " << hopbytes_message(status) << '\n';
    return 1;
  }
  std::cout << "cost " << result.cost << " cut " << result.cut << '\n';

  int count = n, k = 8, cut = 0, hierarchy[] = {4, 2}, distance[] = {1, 10}, qap = 0;
  double imbalance = 0.03;
  kaffpa(&count, nullptr, rows.data(), nullptr, targets.data(), &k, &imbalance, true, 0, ECO, &cut, part.data());
  std::cout << "kaffpa cut " << cut << '\n';
  process_mapping(&count, nullptr, rows.data(), nullptr, targets.data(), hierarchy, distance, 2, ECO,
                  MAPMODE_MULTISECTION, &imbalance, true, 0, &cut, &qap, part.data());
  std::cout << "process_mapping qap " << qap << '\n';
}
