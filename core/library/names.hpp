// What the libraries of other names share: the library behind them, and a line per call in a file.
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "library/hopbytes.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace hopbytes {

// The original calls its own entry points, which are these where the library is preloaded.
inline thread_local bool inside_original = false;

// Calls a function of the original, which then keeps its calls to itself.
template <class Call> auto call_original(Call call) {
  const bool before = std::exchange(inside_original, true);
  const auto result = call();
  inside_original = before;
  return result;
}

// Runs `work` and turns exceptions into codes.
template <class Work> int guarded(Work work, int no_memory, int error) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (...) {
    return error;
  }
}

// The machine that the environment names, null if none.
inline const char* machine_of_environment() {
  const char* machine = std::getenv("HOPBYTES_MACHINE");
  return machine && *machine ? machine : nullptr;
}

// The effort of HOPBYTES_PRESET, or the usual one, with which a call takes about the time of the original.
inline int32_t effort(int32_t usual) {
  const char* preset = std::getenv("HOPBYTES_PRESET");
  const char* const names[] = {"quick", "turbo", "fast"};
  for (int32_t i = 0; preset && i < 3; ++i)
    if (!std::strcmp(preset, names[i])) return i - 1;
  return usual;
}

// Maps to the machine of the options, or to blocks that are all 1 apart if it does not fit; `how` says which.
inline int map_or_cut(const hopbytes_graph& graph, hopbytes_options& wanted, int32_t* part,
                      hopbytes_result& result, const char*& how) {
  how = wanted.machine ? "on_machine" : "cut";
  const int status = hopbytes_map(&graph, &wanted, part, &result);
  if (status != HOPBYTES_BAD_MACHINE || !wanted.machine) return status;
  wanted.machine = nullptr;
  how = "machine_does_not_fit";
  return hopbytes_map(&graph, &wanted, part, &result);
}

// One line in the file that HOPBYTES_LOG names, written in one piece.
class Log {
 public:
  explicit Log(const char* function) : function_(function), began_(std::chrono::steady_clock::now()) {}
  void write(int64_t n, int64_t edges, int64_t k, const char* how, const hopbytes_result* result,
             int status) const {
    const char* path = std::getenv("HOPBYTES_LOG");
    if (!path || !*path) return;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began_;
    char line[400];
    int length =
        std::snprintf(line, sizeof line, "%s n=%lld m=%lld k=%lld %s", function_, static_cast<long long>(n),
                      static_cast<long long>(edges), static_cast<long long>(k), how);
    if (result)
      length += std::snprintf(line + length, sizeof line - length, " cut=%lld cost=%lld imbalance=%.4f",
                              static_cast<long long>(result->cut), static_cast<long long>(result->cost),
                              result->imbalance);
    length += std::snprintf(line + length, sizeof line - length, " seconds=%.3f status=%d\n", seconds.count(),
                            status);
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t written = ::write(file, line, static_cast<size_t>(length));
    close(file);
  }

 private:
  const char* function_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace hopbytes
