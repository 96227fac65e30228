#include "util/team.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace hopbytes {

struct Team::Loop {
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
  bool awaited = false;             // whether the thread that began it sleeps until its helpers have ended
  std::condition_variable progress;
  std::exception_ptr failure;
  std::mutex failure_lock;
};

class Team::Helpers {
 public:
  explicit Helpers(int32_t most) : most_(most) {}

  void run(int64_t count, const Job& job) {
    Loop loop(count, job, current_loop);
    begin(loop);
    work(loop, 0);
    end(loop);
    if (loop.failure) std::rethrow_exception(loop.failure);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  static inline thread_local Loop* current_loop = nullptr;  // whose job this thread does

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  static void work(Loop& loop, int32_t worker) {
    Loop* const outside = std::exchange(current_loop, &loop);
    try {
      for (int64_t i; (i = loop.next.fetch_add(1, std::memory_order_relaxed)) < loop.count;)
        loop.job(worker, i);
    } catch (...) {
      const std::lock_guard<std::mutex> hold(loop.failure_lock);
      loop.failure = std::current_exception();
      loop.next = loop.count;
    }
    current_loop = outside;
  }

  void begin(Loop& loop) {
    const Lock lock(lock_);
    loops_.push_back(&loop);
    loops_begun_.fetch_add(1, std::memory_order_relaxed);
    wake(loop.count - 1);
    for (Loop* outer = loop.parent; outer; outer = outer->parent)
      if (outer->awaited) outer->progress.notify_one();
    while (free_ < loop.count - 1 && started_ < most_ && !refused_) start_helper();
  }

  void end(Loop& loop) {
    Lock lock(lock_);
    std::erase(loops_, &loop);
    while (loop.helping > 0) {
      if (Loop* other = first_open([&](const Loop& each) { return each.is_within(&loop); })) {
        help(*other, lock);
      } else if (!wait_briefly(lock, [&] { return loop.helping == 0; })) {
        loop.awaited = true;
        loop.progress.wait(lock);
        loop.awaited = false;
      }
    }
  }

  // Lets others go on for some microseconds, within which the next loop often begins. Returns whether a loop
  // has begun or `done` holds.
  template <class Done> bool wait_briefly(Lock& lock, Done done) {
    constexpr int32_t turns = 256;
    const int64_t seen = loops_begun_.load(std::memory_order_relaxed);
    bool changed = false;
    lock.unlock();
    for (int32_t turn = 0; turn < turns && !changed; ++turn) {
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
    wake(loop.count - loop.next.load(std::memory_order_relaxed) - 1);
    lock.unlock();
    work(loop, worker);
    lock.lock();
    if (loop.helping.fetch_sub(1) == 1 && loop.awaited) loop.progress.notify_one();
  }

  // Wakes two at most: they call others, so that no thread spends its time on waking all.
  void wake(int64_t wanted) {
    for (int64_t i = 0; i < std::min<int64_t>({wanted, asleep_, 2}); ++i) begun_.notify_one();
  }

  // If the system refuses more threads, the existing ones do the work.
  void start_helper() {
    try {
      std::thread([this] {
        // A thread takes what it needs to throw an exception, a few bytes, when it asks for it first. If
        // memory has run out by then, the process ends.
        [[maybe_unused]] const volatile int thrown = std::uncaught_exceptions();
        help_until_idle();
      }).detach();
      ++started_, ++free_;
    } catch (const std::exception&) {
      refused_ = true;
    }
  }

  void help_until_idle() {
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
      } else if (!wait_briefly(lock, [] { return false; })) {
        ++asleep_;
        waited = begun_.wait_for(lock, patience) == std::cv_status::timeout;
        --asleep_;
      }
    }
    --started_, --free_;
  }

  const int32_t most_;
  std::mutex lock_;  // of what follows
  std::condition_variable begun_;
  std::vector<Loop*> loops_;  // that go on, in the order in which they were begun
  std::atomic<int64_t> loops_begun_{0};
  int64_t started_ = 0, free_ = 0, asleep_ = 0;  // all, those that work on no loop, those of these that sleep
  bool refused_ = false;
};

Team::Team(int32_t threads)
    : threads_(std::max(1, threads)), helpers_(std::make_unique<Helpers>(threads_ - 1)) {}
Team::~Team() = default;

void Team::run(int64_t count, const Job& job) {
  if (count > 1 && threads_ > 1) return helpers_->run(count, job);
  for (int64_t i = 0; i < count; ++i) job(0, i);
}

Team& Team::alone() {
  static Team team(1);
  return team;
}

namespace {

// The teams that no call has: the only state that outlives calls.
struct Kept {
  std::mutex lock;
  std::vector<Team*> teams;
};

// A process that was forked has none of the threads, and must not wait for the lock: it begins anew.
Kept& kept() {
  static Kept* all = nullptr;
  static std::once_flag once;
  std::call_once(once, [] {
    all = new Kept;
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] { all = new Kept; });
#endif
  });
  return *all;
}

Team* take(int32_t threads) {
  const std::lock_guard<std::mutex> hold(kept().lock);
  std::vector<Team*>& teams = kept().teams;
  const auto found = std::find_if(teams.begin(), teams.end(),
                                  [threads](const Team* team) { return team->threads() == threads; });
  if (found == teams.end()) return new Team(threads);
  Team* team = *found;
  teams.erase(found);
  return team;
}

}  // namespace

TeamOfCall::TeamOfCall(int32_t threads) : team_(take(std::max(1, threads))) {}
TeamOfCall::~TeamOfCall() {
  const std::lock_guard<std::mutex> hold(kept().lock);
  kept().teams.push_back(team_);
}

}  // namespace hopbytes
