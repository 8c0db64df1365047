#pragma once

// Which clients may have a place among the connections of a server.
//
//   class            places of this class and those above it, N = max_connections
//   kAnonymous       N       everybody, if the server has no authenticator
//   kUser            N       users who may not administer
//   kAdministrator   N + 16  users who may administer
//   kStack           N + 80  the processes of the stack
//
// So 16 places are kept for administrators, and 64 more for the stack's own processes, whatever all
// others do. Among users, one name has at most N / 4 places, unless its limit is another one. All
// users of one address of another machine have at most N / 2.
//
// Clients whose login is incomplete are strangers. They have no place here (server.h).
//
// Threads: one at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/string_map.h"

namespace tickstack::wire {

enum class PlaceClass : uint8_t { kAnonymous, kUser, kAdministrator, kStack };
inline constexpr size_t kPlaceClasses = 4;

std::string_view NameOf(PlaceClass place);

// Returns the address in the name of a peer: `10.0.0.5` for `10.0.0.5:4242 by http`, or `unix`.
std::string AddressInPeer(std::string_view peer);
// True if the address is one of this machine's loopback addresses, or `unix`.
bool IsThisMachine(std::string_view address);

struct PlaceHolder {
  PlaceClass place = PlaceClass::kAnonymous;
  std::string user;
  std::string address;    // What AddressInPeer returns.
  size_t places_max = 0;  // Limit of places of the user; 0: a quarter of all.
};

class Places {
 public:
  static constexpr size_t kAdministratorReserve = 16;
  static constexpr size_t kStackReserve = 64;

  explicit Places(size_t max_connections) : max_connections_(max_connections) {}

  // Takes a place. If there is none, returns the reason, and nothing has changed.
  std::optional<std::string> Take(const PlaceHolder& holder);
  // Gives back a place that Take gave to this holder.
  void Release(const PlaceHolder& holder);
  size_t Count(PlaceClass place) const { return counts_[static_cast<size_t>(place)]; }

 private:
  size_t CountUpTo(PlaceClass place) const;
  std::optional<std::string> ReasonAgainst(const PlaceHolder& holder) const;

  const size_t max_connections_;
  std::array<size_t, kPlaceClasses> counts_{};
  StringMap<size_t> by_user_;     // Places of users who may not administer.
  StringMap<size_t> by_address_;  // Likewise, and of anonymous clients; without this machine's.
};

}  // namespace tickstack::wire
