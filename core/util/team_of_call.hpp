// Teams that are kept from call to call.
#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "util/team.hpp"

namespace hopbytes {

// A team for the time of a call from Python. Threads take longer to start and to end than many a call, and a
// mapping makes dozens of calls, so the next call with as many threads gets the same team while its helpers
// are still there. No two calls have a team at the same time.
class TeamOfCall {
 public:
  explicit TeamOfCall(int32_t threads) : team_(take(std::max(1, threads))) {}
  TeamOfCall(const TeamOfCall&) = delete;
  TeamOfCall& operator=(const TeamOfCall&) = delete;
  ~TeamOfCall() {
    const std::lock_guard<std::mutex> hold(kept().lock);
    kept().teams.push_back(team_);
  }

  operator Team&() const { return *team_; }

 private:
  struct Kept {
    std::mutex lock;
    std::vector<Team*> teams;
  };

  // A process that was forked has none of the threads, and must not wait for the lock: it begins anew.
  static Kept& kept() {
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

  static Team* take(int32_t threads) {
    const std::lock_guard<std::mutex> hold(kept().lock);
    std::vector<Team*>& teams = kept().teams;
    const auto found = std::find_if(teams.begin(), teams.end(),
                                    [threads](const Team* team) { return team->threads() == threads; });
    if (found == teams.end()) return new Team(threads);
    Team* team = *found;
    teams.erase(found);
    return team;
  }

  Team* team_;
};

}  // namespace hopbytes
