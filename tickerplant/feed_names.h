#pragma once

// Which connection may send rows under a feed's name.
//
// Rows are numbered under a name. If two senders used one name, each would take the other's row
// numbers for its own, and the tickerplant would drop rows of both as duplicates. So a name has at
// most one owner, a connection:
//
//   nobody ---- claim, or the first accepted row ----> owned ---- the connection ends ----> nobody
//                                                      |   ^
//                                                      '---' claim by the same instance (a
//                                                            reconnect), or a take-over
//
// A feed process draws a random instance when it starts. The instance distinguishes a second
// process from one that reconnects while its old connection is not known to be dead yet.
//
// Memory is bounded: a name is forgotten when its owner's connection ends, and the number of owned
// names and the length of a name and of an instance have limits.
//
// Threads: one owner.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "base/time.h"

namespace tickstack::tickerplant {

class FeedNames {
 public:
  static constexpr size_t kNamesMax = 10'000;       // Limit on names owned at one time.
  static constexpr size_t kNamesOfOneMax = 1'000;   // Limit on names owned by one connection.
  static constexpr size_t kNameBytesMax = 256;      // Limit on a name's length.
  static constexpr size_t kInstanceBytesMax = 128;  // Limit on an instance's length.

  struct Sender {
    uint64_t connection = 0;
    std::string_view peer;
    std::string_view user;
  };
  struct Owner {
    uint64_t connection = 0;
    std::string instance;  // Empty if the name was claimed by sending rows.
    uint64_t epoch = 0;    // Number of this change of owner since the tickerplant started.
    int64_t since_ns = 0;
    uint64_t taken_from = 0;  // The connection that owned the name before; 0 if none did.
    std::string peer;
    std::string user;
  };
  struct Counters {
    uint64_t claims_refused = 0;
    uint64_t takeovers = 0;
    uint64_t upds_refused = 0;  // Upds whose sender did not own the name.
  };

  // What a granted claim changed.
  struct Grant {
    bool changed = false;     // True if the name has a new owner.
    uint64_t taken_from = 0;  // The connection that owned it until now; 0 if none did.
  };

  explicit FeedNames(const Clock* clock) : clock_(clock) {}

  // Makes `sender` the owner of `name`. Grants it if nobody owns the name, `sender` does, the owner
  // has the same instance, or `takeover` is set. Otherwise kFailedPrecondition, beginning with
  // `held:`, which names the owner. kInvalidArgument (`length:`) or kResourceExhausted (`limit:`)
  // if a bound is exceeded.
  absl::StatusOr<Grant> Claim(std::string_view name, std::string_view instance, bool takeover,
                              const Sender& sender);

  // Returns OK if the connection may send rows under the name: it owns the name, or nobody does.
  // Errors: those of Claim; the message begins with `taken:` if this connection lost the name to
  // another.
  absl::Status MaySend(std::string_view name, uint64_t connection);
  // Returns the error that MaySend would return, without counting it.
  absl::Status CheckSender(std::string_view name, uint64_t connection) const;
  // Records that rows of the sender were accepted, after MaySend: the sender owns the name from now
  // on.
  void OnAccepted(std::string_view name, const Sender& sender);

  // Count a claim or an upd that was refused because the name belongs to another user.
  void CountClaimRefused() { ++counters_.claims_refused; }
  void CountUpdRefused() { ++counters_.upds_refused; }

  // Releases the names that the connection owns.
  void OnConnectionGone(uint64_t connection);

  // Returns nullptr if nobody owns the name. Valid until the next call that is not const.
  const Owner* Find(std::string_view name) const;
  std::vector<std::string> Names() const;  // Owned names, sorted.
  const Counters& counters() const { return counters_; }
  // Increases whenever any name gets or loses an owner.
  uint64_t changes() const { return changes_; }

 private:
  absl::Status CheckRoom(uint64_t connection) const;
  void Disown(uint64_t connection);
  Owner& Own(std::string_view name, std::string_view instance, const Sender& sender);

  const Clock* clock_;
  NameMap<Owner> owners_;
  absl::flat_hash_map<uint64_t, size_t> owned_;  // Number of names by connection.
  uint64_t epochs_ = 0;
  uint64_t changes_ = 0;
  Counters counters_;
};

// Describes an owner for logs: host, user, instance, start of ownership, epoch.
std::string Describe(const FeedNames::Owner& owner);

}  // namespace tickstack::tickerplant
