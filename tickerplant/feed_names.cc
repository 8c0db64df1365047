#include "tickerplant/feed_names.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/printable.h"
#include "base/status.h"

namespace tickstack::tickerplant {
namespace {

absl::Status Held(std::string_view name, const FeedNames::Owner& owner) {
  return FailedPrecondition(
      "held: feed {} is held by {}: stop that feed, give this one another name, or take over with "
      ".u.feed[name;instance;`takeover] (tickstack feed --take-over)",
      Printable(name), Describe(owner));
}

absl::Status Taken(std::string_view name, const FeedNames::Owner& owner) {
  return FailedPrecondition("taken: feed {} was taken over by {}", Printable(name),
                            Describe(owner));
}

absl::Status CheckLength(std::string_view what, std::string_view text, size_t bytes_max) {
  if (text.empty()) return InvalidArgument("length: {} is empty", what);
  if (text.size() <= bytes_max) return absl::OkStatus();
  return InvalidArgument("length: {} of {} bytes, at most {}", what, text.size(), bytes_max);
}

}  // namespace

std::string Describe(const FeedNames::Owner& owner) {
  const std::string instance =
      owner.instance.empty() ? "no instance" : "instance " + Printable(owner.instance);
  return fmt::format("{} (user '{}', {}) since {}, epoch {}", Printable(owner.peer),
                     Printable(owner.user), instance, FormatTimestamp(owner.since_ns), owner.epoch);
}

absl::Status FeedNames::CheckRoom(uint64_t connection) const {
  const auto own = owned_.find(connection);
  if (own != owned_.end() && own->second >= kNamesOfOneMax) {
    return ResourceExhausted("limit: this connection owns {} names of feeds, at most {}",
                             own->second, kNamesOfOneMax);
  }
  if (owners_.size() < kNamesMax) return absl::OkStatus();
  return ResourceExhausted("limit: {} names of feeds are in use, at most {}", owners_.size(),
                           kNamesMax);
}

// Counts that a connection owns one name less.
void FeedNames::Disown(uint64_t connection) {
  const auto own = owned_.find(connection);
  if (own != owned_.end() && --own->second == 0) owned_.erase(own);
}

FeedNames::Owner& FeedNames::Own(std::string_view name, std::string_view instance,
                                 const Sender& sender) {
  ++changes_;
  Owner& owner = owners_[name];
  Disown(owner.connection);  // 0, which owns nothing, if the name is new.
  ++owned_[sender.connection];
  owner = {.connection = sender.connection,
           .instance = std::string(instance),
           .epoch = ++epochs_,
           .since_ns = clock_->NowNs(),
           .taken_from = owner.connection,
           .peer = std::string(sender.peer),
           .user = std::string(sender.user)};
  return owner;
}

absl::StatusOr<FeedNames::Grant> FeedNames::Claim(std::string_view name, std::string_view instance,
                                                  bool takeover, const Sender& sender) {
  TS_RETURN_IF_ERROR(CheckLength("a feed's name", name, kNameBytesMax));
  TS_RETURN_IF_ERROR(CheckLength("a feed's instance", instance, kInstanceBytesMax));
  const auto held = owners_.find(name);
  if (held == owners_.end()) {
    TS_RETURN_IF_ERROR(CheckRoom(sender.connection));
    Own(name, instance, sender);
    return Grant{.changed = true};
  }
  Owner& owner = held->second;
  if (owner.connection == sender.connection) {
    owner.instance = instance;
    return Grant{};
  }
  const bool reconnected = owner.instance == instance;
  if (!reconnected && !takeover) {
    ++counters_.claims_refused;
    return Held(name, owner);
  }
  counters_.takeovers += reconnected ? 0 : 1;
  return Grant{.changed = true, .taken_from = Own(name, instance, sender).taken_from};
}

absl::Status FeedNames::CheckSender(std::string_view name, uint64_t connection) const {
  const auto held = owners_.find(name);
  if (held == owners_.end()) return CheckRoom(connection);
  const Owner& owner = held->second;
  if (owner.connection == connection) return absl::OkStatus();
  return owner.taken_from == connection ? Taken(name, owner) : Held(name, owner);
}

absl::Status FeedNames::MaySend(std::string_view name, uint64_t connection) {
  absl::Status status = CheckSender(name, connection);
  if (!status.ok()) ++counters_.upds_refused;
  return status;
}

void FeedNames::OnAccepted(std::string_view name, const Sender& sender) {
  if (!owners_.contains(name)) Own(name, "", sender);
}

void FeedNames::OnConnectionGone(uint64_t connection) {
  ++changes_;
  owned_.erase(connection);
  absl::erase_if(owners_, [&](const auto& entry) { return entry.second.connection == connection; });
}

const FeedNames::Owner* FeedNames::Find(std::string_view name) const {
  const auto held = owners_.find(name);
  return held == owners_.end() ? nullptr : &held->second;
}

std::vector<std::string> FeedNames::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, owner] : owners_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tickstack::tickerplant
