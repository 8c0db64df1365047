#pragma once

// The order in which passwords are verified, so that somebody who sends many wrong ones delays
// others as little as possible.
//
// Addresses take turns, and within an address its users. A user who has logged in from the address
// before, and has not failed since, is served in every second turn of the address at least, because
// names can be invented. If too many jobs of an address, or of all, wait, one of the address with
// most jobs is dropped: of its user with most jobs, the newest. So one name cannot fill the queue
// of its address, and one address not that of all.
//
// Threads: one at a time.

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/string_map.h"

namespace tickstack::security {

struct LoginQueueBounds {
  size_t all = 256;        // Jobs that wait.
  size_t of_address = 64;  // Jobs that wait, of one address.
};

template <typename Job>
class LoginQueue {
 public:
  explicit LoginQueue(LoginQueueBounds bounds) : bounds_(bounds) {}

  // Adds a job. `is_trusted`: the user has logged in from this address, and has not failed since.
  // Returns the job that there is no room for, which may be this one.
  std::optional<Job> Push(const std::string& address, const std::string& user, bool is_trusted,
                          Job job) {
    Address& at = addresses_[address];
    if (at.count == 0) turns_.push_back(address);
    at.lanes[is_trusted ? 0 : 1].Push(user, std::move(job));
    ++at.count;
    ++count_;
    if (at.count > bounds_.of_address) return Drop(address);
    if (count_ > bounds_.all) return Drop(LargestAddress());
    return std::nullopt;
  }

  // Takes the next job. The queue must not be empty.
  Job Pop() {
    const std::string address = std::move(turns_.front());
    turns_.pop_front();
    Address& at = addresses_.find(address)->second;
    size_t lane = at.trusted_next ? 0 : 1;
    if (at.lanes[lane].empty()) lane = 1 - lane;
    at.trusted_next = lane != 0;
    Job job = at.lanes[lane].Pop();
    --count_;
    if (--at.count == 0) {
      addresses_.erase(address);
    } else {
      turns_.push_back(address);
    }
    return job;
  }

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }

  // Calls visit(job) for each job until it returns true. Returns whether one did.
  template <typename Visit>
  bool AnyOf(Visit visit) {
    for (auto& [address, at] : addresses_) {
      for (Lane& lane : at.lanes) {
        for (auto& [user, jobs] : lane.users) {
          for (Job& job : jobs) {
            if (visit(job)) return true;
          }
        }
      }
    }
    return false;
  }

 private:
  // Users who take turns.
  struct Lane {
    StringMap<std::deque<Job>> users;
    std::deque<std::string> turns;

    bool empty() const { return turns.empty(); }
    void Push(const std::string& user, Job job) {
      std::deque<Job>& jobs = users[user];
      if (jobs.empty()) turns.push_back(user);
      jobs.push_back(std::move(job));
    }
    Job Pop() {
      std::string user = std::move(turns.front());
      turns.pop_front();
      const auto found = users.find(user);
      Job job = std::move(found->second.front());
      found->second.pop_front();
      if (found->second.empty()) {
        users.erase(found);
      } else {
        turns.push_back(std::move(user));
      }
      return job;
    }
    // Takes the newest job of the user with most jobs; of several such users, the one whose turn is
    // last.
    Job PopNewest() {
      size_t chosen = 0;
      for (size_t i = 0; i < turns.size(); ++i) {
        if (users.find(turns[i])->second.size() >= users.find(turns[chosen])->second.size()) {
          chosen = i;
        }
      }
      const auto found = users.find(turns[chosen]);
      Job job = std::move(found->second.back());
      found->second.pop_back();
      if (found->second.empty()) {
        users.erase(found);
        turns.erase(turns.begin() + static_cast<std::ptrdiff_t>(chosen));
      }
      return job;
    }
  };
  struct Address {
    Lane lanes[2];  // Of trusted users, and of all others.
    bool trusted_next = true;
    size_t count = 0;
  };

  const std::string& LargestAddress() const {
    const std::string* largest = &turns_.front();
    for (const std::string& address : turns_) {
      if (addresses_.find(address)->second.count > addresses_.find(*largest)->second.count) {
        largest = &address;
      }
    }
    return *largest;
  }

  std::optional<Job> Drop(std::string address) {
    Address& at = addresses_.find(address)->second;
    Job job = (at.lanes[1].empty() ? at.lanes[0] : at.lanes[1]).PopNewest();
    --count_;
    if (--at.count == 0) {
      addresses_.erase(address);
      std::erase(turns_, address);
    }
    return job;
  }

  const LoginQueueBounds bounds_;
  StringMap<Address> addresses_;
  std::deque<std::string> turns_;  // Addresses with jobs, in the order of their turns.
  size_t count_ = 0;
};

}  // namespace tickstack::security
