// The interpreter's lock, released for the time of a computation.
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

// Other threads of Python run until the end of its scope. When the interpreter has ended by then, as where
// the program ends while a daemon thread computes, Python up to 3.13 ends the thread by unwinding its stack,
// which no destructor may let out: the process would abort. The thread sleeps instead until the process has
// ended, as it does with Python 3.14.
class ReleasedLock {
 public:
  ReleasedLock() : state_(PyEval_SaveThread()) {}
  ReleasedLock(const ReleasedLock&) = delete;
  ReleasedLock& operator=(const ReleasedLock&) = delete;
  ~ReleasedLock() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }

 private:
  PyThreadState* const state_;
};
