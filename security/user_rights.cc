#include "security/user_rights.h"

#include <algorithm>

#include "base/status.h"
#include "security/audit_log.h"
#include "wire/link_credentials.h"

namespace tickstack::security {

UserRights::UserRights(std::string user, Grants grants)
    : user_(std::move(user)),
      grants_(std::move(grants)),
      requests_(grants_.requests_per_second, std::max(1.0, grants_.requests_per_second)) {}

bool UserRights::TakeRequest(int64_t now_ns) const {
  if (grants_.requests_per_second == 0) return true;
  const std::lock_guard lock(mutex_);
  return requests_.Take(now_ns);
}

namespace {

absl::Status Denied(std::string_view user, std::string_view peer, std::string_view what) {
  AuditDenied(user, peer, what);
  return PermissionDenied("access: {} may not {}", user, what);
}

}  // namespace

absl::Status UserRights::MayReadMetrics(std::string_view peer) const {
  if (grants_.metrics || grants_.administer) return absl::OkStatus();
  return Denied(user_, peer, "read /metrics");
}

wire::PlaceClass UserRights::place() const {
  if (user_ == wire::kStackUser) return wire::PlaceClass::kStack;
  return grants_.administer ? wire::PlaceClass::kAdministrator : wire::PlaceClass::kUser;
}

// Only a LoginCheck gives rights to connections of a process that asks for them here.
Access::Access(const wire::Connection& connection)
    : rights_(std::static_pointer_cast<const UserRights>(connection.rights())) {
  if (rights_ != nullptr) peer_ = connection.peer();
}

absl::Status Access::Deny(std::string_view what) const { return Denied(user(), peer_, what); }

absl::Status Access::MayPublish(std::string_view table) const {
  if (rights_ == nullptr || rights_->grants().publish.Has(table)) return absl::OkStatus();
  return Deny(fmt::format("publish to {}", table));
}

bool Access::PublishesAnything() const {
  return rights_ == nullptr || !rights_->grants().publish.empty();
}

bool Access::KnowsAllTables() const {
  if (rights_ == nullptr) return true;
  const Grants& grants = rights_->grants();
  return grants.query.all || grants.administer || grants.metrics;
}

bool Access::Knows(std::string_view table) const {
  if (KnowsAllTables()) return true;
  const Grants& grants = rights_->grants();
  return grants.query.Has(table) || grants.publish.Has(table) || !grants.SymbolsOf(table).empty();
}

absl::Status Access::MaySubscribeToAll(std::string_view what) const {
  if (rights_ == nullptr || rights_->grants().SubscribesToAll()) return absl::OkStatus();
  return Deny(fmt::format("call {}, which needs subscriptions to all tables and symbols", what));
}

absl::Status Access::MayQuery(std::string_view table) const {
  if (rights_ == nullptr || rights_->grants().query.Has(table)) return absl::OkStatus();
  return Deny(fmt::format("query {}", table));
}

absl::Status Access::MayAdminister(std::string_view what) const {
  if (rights_ == nullptr) return absl::OkStatus();
  if (!rights_->grants().administer) return Deny(fmt::format("call {}", what));
  AuditAct(user(), peer_, what);
  return absl::OkStatus();
}

absl::Status Access::TakeRequest(int64_t now_ns) const {
  if (rights_ == nullptr || rights_->TakeRequest(now_ns)) return absl::OkStatus();
  return ResourceExhausted("limit: {} may send {:g} requests per second", user(),
                           rights_->grants().requests_per_second);
}

}  // namespace tickstack::security
