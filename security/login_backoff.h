#pragma once

// Refuses logins for a while after several have failed.
//
//   failures are counted by   first pause after   its length      longest pause
//   user and address          5 failures          1 s, doubling   60 s
//   address                   20 failures         1 s, doubling   60 s
//   user                      100 failures        1 s, doubling   5 s
//
// A pause begins with the last failure, and each further failure doubles its length. A right
// password resets the count by user and address. A count is forgotten 10 minutes after its last
// failure. Addresses of this machine have no pauses by address. A password that this process has
// verified recently has no pauses by user, and neither has a user who has logged in from the
// address within a day and has not failed there since. So somebody who guesses passwords elsewhere
// cannot lock out the user.
//
// Unknown users are counted like known ones, so that pauses do not show which users exist. Memory
// is bounded: a new count replaces the oldest one.
//
// Threads: one at a time.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/string_map.h"
#include "base/time.h"

namespace tickstack::security {

class LoginBackoff {
 public:
  static constexpr size_t kCountsMax = 10'000;

  // Returns how long logins of the user from the address are refused; 0: they are not. `known` is
  // true if the password was verified recently.
  int64_t WaitNs(std::string_view user, std::string_view address, bool known, int64_t now_ns) const;
  void OnFailure(std::string_view user, std::string_view address, int64_t now_ns);
  void OnSuccess(std::string_view user, std::string_view address, int64_t now_ns);
  // True if the user has logged in from the address within a day, and has not failed there since.
  bool IsTrusted(std::string_view user, std::string_view address, int64_t now_ns) const;
  size_t size() const { return counts_.size(); }

 private:
  struct Count {
    uint32_t failures = 0;
    int64_t last_ns = 0;
  };
  struct Rule;

  int64_t WaitOf(const std::string& key, const Rule& rule, int64_t now_ns) const;
  void CountFailure(std::string key, int64_t now_ns);
  void MakeRoom(int64_t now_ns);

  StringMap<Count> counts_;
  StringMap<int64_t> trusted_ns_;  // When each pair has logged in last.
};

}  // namespace tickstack::security
