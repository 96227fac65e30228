// Threads that help a search.
#pragma once
#include <exception>
#include <thread>
#include <utility>

namespace hopbytes {

// Starts a thread. It takes at once what it needs to throw an exception, a few bytes of its own: where the
// first exception of a thread says that memory has run out, there may be no room for them, and the process
// would end.
template <class Work> std::thread helper_thread(Work work) {
  return std::thread([work = std::move(work)]() mutable {
    [[maybe_unused]] const volatile int thrown = std::uncaught_exceptions();
    work();
  });
}

}  // namespace hopbytes
