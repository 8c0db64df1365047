#pragma once

// How long failed logins keep further attempts away.
//
//   counted by              free   then a pause of      at most
//   user and address           5   1 s, doubling        60 s
//   address                   20   1 s, doubling        60 s     not for addresses of this machine
//   user                     100   1 s, doubling         5 s     not for a known password
//
// A pause begins with the last failure. A right password ends the first kind. Counts that are 10
// minutes old are forgotten. A password that this process verified a moment ago is not kept away by
// failures of others elsewhere, so that a guesser cannot lock a user out who works.
//
// Unknown users are counted like known ones: the pauses do not tell which of them exist. Memory is
// bounded; when it is full, the oldest count goes.
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

  // Returns how long the user must wait for its next attempt; 0: not at all. `known`: the password
  // is one that was verified before.
  int64_t WaitNs(std::string_view user, std::string_view address, bool known, int64_t now_ns) const;
  void OnFailure(std::string_view user, std::string_view address, int64_t now_ns);
  void OnSuccess(std::string_view user, std::string_view address);
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
};

// Returns the address in a connection's name: `10.0.0.5` of `10.0.0.5:4242 by http`, `unix`.
std::string AddressInPeer(std::string_view peer);

}  // namespace tickstack::security
