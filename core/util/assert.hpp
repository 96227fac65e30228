// Checks of invariants, which only builds with the option HOPBYTES_ASSERT have.
#pragma once
#include <stdexcept>
#include <string>

namespace hopbytes {

// The exception reaches Python, also from a thread of a team.
[[noreturn]] inline void invariant_failed(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + condition);
}

}  // namespace hopbytes

// The condition is read, but not evaluated, in other builds: it may take as long as a pass over the graph.
#if defined(HOPBYTES_ASSERT)
#define HOPBYTES_CHECK(condition) \
  ((condition) ? void(0) : hopbytes::invariant_failed(#condition, __FILE__, __LINE__))
#else
#define HOPBYTES_CHECK(condition) static_cast<void>(sizeof(!(condition)))
#endif
