#pragma once

// The rights of a client that has logged in, and their checks. Each denial is an error that begins
// with `access:`. Denials and administrative acts are logged (security/audit_log.h).

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "security/grants.h"
#include "security/token_bucket.h"
#include "wire/connection.h"

namespace tickstack::security {

// The rights of one user. All connections of the user share one object, until the user's entry in
// the users file changes. Threads: any.
class UserRights final : public wire::ClientRights {
 public:
  UserRights(std::string user, Grants grants);

  const std::string& user() const { return user_; }
  const Grants& grants() const { return grants_; }
  bool is_current() const override { return current_.load(std::memory_order_relaxed); }
  absl::Status MayReadMetrics(std::string_view peer) const override;
  wire::PlaceClass place() const override;
  size_t max_connections() const override { return grants_.connections; }
  bool PublishesAnything() const override { return !grants_.publish.empty(); }
  bool QueriesAnything() const override { return !grants_.query.empty(); }
  void Revoke() { current_.store(false, std::memory_order_relaxed); }

  // Counts a request. False if the user has sent more than requests_per_second.
  bool TakeRequest(int64_t now_ns) const;

 private:
  const std::string user_;
  const Grants grants_;
  std::atomic<bool> current_{true};
  mutable std::mutex mutex_;
  mutable TokenBucket requests_;  // Guarded by mutex_.
};

// What a client may do. Every check is OK if the process has no users file. Cheap to copy. Threads:
// any.
class Access {
 public:
  Access() = default;  // May do everything.
  explicit Access(const wire::Connection& connection);

  bool is_restricted() const { return rights_ != nullptr; }
  const Grants* grants() const { return rights_ == nullptr ? nullptr : &rights_->grants(); }
  std::string_view user() const {
    return rights_ == nullptr ? std::string_view() : std::string_view(rights_->user());
  }

  // These checks return kPermissionDenied with `access:`, the user and the missing right.
  absl::Status MayPublish(std::string_view table) const;
  // `symbols` are those of the request; an empty range stands for all symbols.
  template <typename Symbols>
  absl::Status MaySubscribe(std::string_view table, const Symbols& symbols) const;
  absl::Status MaySubscribeToAll(std::string_view what) const;
  absl::Status MayQuery(std::string_view table) const;
  // `what` names the function, for the error and the audit log.
  absl::Status MayAdminister(std::string_view what) const;
  // True if the user may publish to some table.
  bool PublishesAnything() const;
  // True if the user may know that there is this table: it may query it, subscribe to it or publish
  // to it, or knows all tables.
  bool Knows(std::string_view table) const;
  // True if the user may know all tables: it may query all, administer, or read /metrics, which
  // names them.
  bool KnowsAllTables() const;
  // Counts a request. kResourceExhausted with `limit:` if the user has sent more requests per
  // second than it may.
  absl::Status TakeRequest(int64_t now_ns) const;

  // Logs that the client may not do `what`, and returns the error for it.
  absl::Status Deny(std::string_view what) const;

 private:
  std::shared_ptr<const UserRights> rights_;  // nullptr: everything is allowed.
  std::string peer_;
};

template <typename Symbols>
absl::Status Access::MaySubscribe(std::string_view table, const Symbols& symbols) const {
  if (rights_ == nullptr) return absl::OkStatus();
  const NameSet allowed = rights_->grants().SymbolsOf(table);
  if (allowed.all) return absl::OkStatus();
  if (allowed.empty()) return Deny(fmt::format("subscribe to {}", table));
  if (symbols.empty()) return Deny(fmt::format("subscribe to all symbols of {}", table));
  for (const auto& symbol : symbols) {
    if (!allowed.Has(symbol)) return Deny(fmt::format("subscribe to {} of {}", symbol, table));
  }
  return absl::OkStatus();
}

}  // namespace tickstack::security
