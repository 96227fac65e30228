// The threads of a call, which do its loops together, also those inside of others.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hopbytes {

// The calling thread and up to threads - 1 helpers. A loop of independent jobs is open to all of them: a
// thread that has nothing to do takes the next job of the loop that was begun first. A thread that waits for
// the last jobs of its own loop takes jobs of loops within these only, so that nothing else delays what
// follows.
class Team {
 public:
  // Gets the number of the thread among those that work on the loop, 0 for the one that began it, and the
  // number of the job.
  using Job = std::function<void(int32_t worker, int64_t i)>;

  // Helpers are started by the first loops that need them, and end when there has been nothing to do for a
  // while. They are on their own, so a team that had helpers has to stay in memory (TeamOfCall).
  explicit Team(int32_t threads) : threads_(std::max(1, threads)), idle_(threads_ - 1) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int32_t threads() const { return threads_; }
  // Whether there are threads that have nothing to do at the moment.
  bool has_idle() const { return idle_.load(std::memory_order_relaxed) > 0; }

  // Calls job(worker, 0) .. job(worker, count - 1), and returns when all have ended.
  void run(int64_t count, const Job& job) {
    if (count <= 1 || threads_ == 1) {
      for (int64_t i = 0; i < count; ++i) job(0, i);
      return;
    }
    Loop loop(count, job, inside);
    begin(loop);
    work(loop, 0);
    end(loop);
    if (loop.failure) std::rethrow_exception(loop.failure);
  }

  // The calling thread without helpers.
  static Team& alone() {
    static Team team(1);
    return team;
  }

 private:
  struct Loop {
    Loop(int64_t jobs, const Job& each, Loop* outside) : count(jobs), job(each), parent(outside) {}

    bool is_open() const { return next.load(std::memory_order_relaxed) < count; }
    bool is_within(const Loop* other) const {
      const Loop* loop = parent;
      while (loop && loop != other) loop = loop->parent;
      return loop == other;
    }

    const int64_t count;
    const Job& job;
    Loop* const parent;  // the loop whose job began this one
    std::atomic<int64_t> next{0};
    std::atomic<int32_t> helping{0};  // helpers that work on it
    int32_t joined = 0;               // helpers that have ever worked on it
    bool awaited = false;  // whether the thread that began it sleeps until its helpers have ended
    std::condition_variable progress;
    std::exception_ptr failure;
    std::mutex failure_lock;
  };
  using Lock = std::unique_lock<std::mutex>;
  static inline thread_local Loop* inside = nullptr;  // the loop whose job this thread does

  static constexpr int32_t kTurns = 256;  // some microseconds, within which the next loop often begins

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  static void work(Loop& loop, int32_t worker) {
    Loop* const outside = std::exchange(inside, &loop);
    try {
      for (int64_t i; (i = loop.next.fetch_add(1, std::memory_order_relaxed)) < loop.count;)
        loop.job(worker, i);
    } catch (...) {
      const std::lock_guard<std::mutex> hold(loop.failure_lock);
      loop.failure = std::current_exception();
      loop.next = loop.count;
    }
    inside = outside;
  }

  void begin(Loop& loop) {
    const Lock lock(lock_);
    loops_.push_back(&loop);
    loops_begun_.fetch_add(1, std::memory_order_relaxed);
    call_helpers(loop.count - 1);
    for (Loop* outer = loop.parent; outer; outer = outer->parent)
      if (outer->awaited) outer->progress.notify_one();
    while (free_ < loop.count - 1 && helpers_ < threads_ - 1 && !refused_) start_helper();
  }

  void end(Loop& loop) {
    Lock lock(lock_);
    std::erase(loops_, &loop);
    idle_.fetch_add(1, std::memory_order_relaxed);
    while (loop.helping > 0) {
      if (Loop* other = first_open([&](const Loop& each) { return each.is_within(&loop); })) {
        help(*other, lock);
      } else if (!passes(lock, [&] { return loop.helping == 0; })) {
        loop.awaited = true;
        loop.progress.wait(lock);
        loop.awaited = false;
      }
    }
    idle_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Lets others go on for a moment. Returns whether a loop has begun or `done` holds.
  template <class Done> bool passes(Lock& lock, Done done) {
    const int64_t seen = loops_begun_.load(std::memory_order_relaxed);
    bool changed = false;
    lock.unlock();
    for (int32_t turn = 0; turn < kTurns && !changed; ++turn) {
      pause();
      changed = loops_begun_.load(std::memory_order_relaxed) != seen || done();
    }
    lock.lock();
    return changed || loops_begun_.load(std::memory_order_relaxed) != seen || done();
  }

  template <class Wanted> Loop* first_open(Wanted wanted) const {
    const auto found = std::find_if(loops_.begin(), loops_.end(),
                                    [&](const Loop* loop) { return loop->is_open() && wanted(*loop); });
    return found == loops_.end() ? nullptr : *found;
  }

  // Works on a loop as long as it has jobs.
  void help(Loop& loop, Lock& lock) {
    const int32_t worker = ++loop.joined;
    loop.helping.fetch_add(1, std::memory_order_relaxed);
    idle_.fetch_sub(1, std::memory_order_relaxed);
    call_helpers(loop.count - loop.next.load(std::memory_order_relaxed) - 1);
    lock.unlock();
    work(loop, worker);
    lock.lock();
    idle_.fetch_add(1, std::memory_order_relaxed);
    if (loop.helping.fetch_sub(1) == 1 && loop.awaited) loop.progress.notify_one();
  }

  // Wakes two at most: they call others, so that no thread spends its time on waking all.
  void call_helpers(int64_t wanted) {
    for (int64_t i = 0; i < std::min<int64_t>({wanted, asleep_, 2}); ++i) begun_.notify_one();
  }

  // If the system refuses more threads, the existing ones do the work.
  void start_helper() {
    try {
      std::thread([this] {
        // A thread takes what it needs to throw an exception, a few bytes, when it asks for it first. If
        // memory has run out by then, the process ends.
        [[maybe_unused]] const volatile int thrown = std::uncaught_exceptions();
        stay();
      }).detach();
      ++helpers_, ++free_;
    } catch (const std::exception&) {
      refused_ = true;
    }
  }

  void stay() {
    constexpr std::chrono::milliseconds patience(20);
    Lock lock(lock_);
    for (bool waited = false;;) {
      if (Loop* loop = first_open([](const Loop&) { return true; })) {
        --free_;
        help(*loop, lock);
        ++free_;
        waited = false;
      } else if (waited) {
        break;
      } else if (!passes(lock, [] { return false; })) {
        ++asleep_;
        waited = begun_.wait_for(lock, patience) == std::cv_status::timeout;
        --asleep_;
      }
    }
    --helpers_, --free_;
  }

  const int32_t threads_;
  std::atomic<int32_t> idle_;
  std::mutex lock_;  // of what follows
  std::condition_variable begun_;
  std::vector<Loop*> loops_;  // that go on, in the order in which they were begun
  std::atomic<int64_t> loops_begun_{0};
  int64_t helpers_ = 0, free_ = 0, asleep_ = 0;  // all, those that work on no loop, those of these that sleep
  bool refused_ = false;
};

}  // namespace hopbytes
