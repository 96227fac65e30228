// The threads of a call, which do its loops together, also those inside of others.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

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
  explicit Team(int32_t threads);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  int32_t threads() const { return threads_; }

  // Calls job(worker, 0) .. job(worker, count - 1), and returns when all have ended.
  void run(int64_t count, const Job& job);

  // The calling thread without helpers.
  static Team& alone();

 private:
  struct Loop;
  class Helpers;

  const int32_t threads_;
  const std::unique_ptr<Helpers> helpers_;
};

// A team for the time of a call from Python. Threads take longer to start and to end than many a call, and a
// mapping makes dozens of calls, so the next call with as many threads gets the same team while its helpers
// are still there. No two calls have a team at the same time.
class TeamOfCall {
 public:
  explicit TeamOfCall(int32_t threads);
  TeamOfCall(const TeamOfCall&) = delete;
  TeamOfCall& operator=(const TeamOfCall&) = delete;
  ~TeamOfCall();

  operator Team&() const { return *team_; }

 private:
  Team* const team_;
};

}  // namespace hopbytes
