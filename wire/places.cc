#include "wire/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/connection_counts.h"

namespace tickstack::wire {
namespace {

size_t CountOf(const StringMap<size_t>& counts, const std::string& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

void Subtract(StringMap<size_t>& counts, const std::string& key) {
  const auto found = counts.find(key);
  if (found != counts.end() && --found->second == 0) counts.erase(found);
}

bool IsBoundByUser(const PlaceHolder& holder) { return holder.place == PlaceClass::kUser; }

bool IsBoundByAddress(const PlaceHolder& holder) {
  return holder.place <= PlaceClass::kUser && !IsThisMachine(holder.address);
}

}  // namespace

std::string_view NameOf(PlaceClass place) {
  switch (place) {
    case PlaceClass::kAnonymous:
      return "anonymous";
    case PlaceClass::kUser:
      return "user";
    case PlaceClass::kAdministrator:
      return "administrator";
    case PlaceClass::kStack:
      return "stack";
  }
  return "";
}

std::string AddressInPeer(std::string_view peer) {
  peer = peer.substr(0, peer.find(' '));
  const size_t colon = peer.rfind(':');
  return std::string(peer.substr(0, colon));
}

bool IsThisMachine(std::string_view address) {
  return address == "unix" || address == "[::1]" || address.starts_with("127.") ||
         address.starts_with("[::ffff:127.");
}

size_t Places::CountUpTo(PlaceClass place) const {
  size_t count = 0;
  for (size_t i = 0; i <= static_cast<size_t>(place); ++i) count += counts_[i];
  return count;
}

std::optional<std::string> Places::ReasonAgainst(const PlaceHolder& holder) const {
  size_t bound = max_connections_;
  if (holder.place >= PlaceClass::kAdministrator) bound += kAdministratorReserve;
  if (holder.place == PlaceClass::kStack) bound += kStackReserve;
  if (const size_t taken = CountUpTo(holder.place); taken >= bound) {
    return fmt::format("{} connections, the bound is {}", taken, bound);
  }
  if (IsBoundByUser(holder)) {
    const size_t most =
        holder.places_max != 0 ? holder.places_max : std::max<size_t>(1, max_connections_ / 4);
    if (const size_t taken = CountOf(by_user_, holder.user); taken >= most) {
      return fmt::format("{} connections of the user {}, the bound is {}", taken, holder.user,
                         most);
    }
  }
  if (IsBoundByAddress(holder)) {
    const size_t most = std::max<size_t>(1, max_connections_ / 2);
    if (const size_t taken = CountOf(by_address_, holder.address); taken >= most) {
      return fmt::format("{} connections from {}, the bound is {}", taken, holder.address, most);
    }
  }
  return std::nullopt;
}

ConnectionCounts& ConnectionCounts::OfProcess() {
  static ConnectionCounts counts;
  return counts;
}

std::optional<std::string> Places::Take(const PlaceHolder& holder) {
  if (std::optional<std::string> reason = ReasonAgainst(holder)) return reason;
  ++counts_[static_cast<size_t>(holder.place)];
  if (IsBoundByUser(holder)) ++by_user_[holder.user];
  if (IsBoundByAddress(holder)) ++by_address_[holder.address];
  return std::nullopt;
}

void Places::Release(const PlaceHolder& holder) {
  --counts_[static_cast<size_t>(holder.place)];
  if (IsBoundByUser(holder)) Subtract(by_user_, holder.user);
  if (IsBoundByAddress(holder)) Subtract(by_address_, holder.address);
}

}  // namespace tickstack::wire
