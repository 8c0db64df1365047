#pragma once

// How an rdb takes the place of a running one, and gives its own to the next (wire/hand_over.h).
//
//   successor                                  holder
//   begins, names its persistent tier   --->   with that tier: commits, takes no more rows, gives
//                                              the tier
//   restores the tier or replays the log;
//   subscribes until it is live
//   asks for the sockets                --->   takes no more rows, answers the running queries,
//                                              closes its connections
//   waits for the holder's last rows    <---
//   accepts clients                     --->   ends
//   reuses freed memory, writes days
//
// Without a common persistent tier the holder takes rows until it gives the sockets, and both have
// all rows in memory for that time.
//
// Ends of day. While the holder writes a day it refuses to give its tier, or makes the successor
// wait for the sockets. A day that ends meanwhile waits in the successor until the holder has
// ended. So no two processes write the same partition.
//
// Threads: the ingest thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mem/touch_pause.h"
#include "rdb/end_of_day.h"
#include "rdb/intake.h"
#include "rdb/rdb.h"
#include "serve/query_service.h"
#include "wire/event_loop.h"
#include "wire/hand_over.h"
#include "wire/listener_options.h"

namespace tickstack::rdb {

// The successor's side, until it accepts clients.
class Successor {
 public:
  // Asks the rdb that listens on the port. `tier_file` is the path of this one's persistent tier;
  // empty: it has none. Errors: those of wire::TakeOver::Begin.
  static absl::StatusOr<std::unique_ptr<Successor>> Begin(int port, std::string_view tier_file);

  // True if the holder gave that tier and still reads it.
  bool has_tier() const { return has_tier_; }
  // Runs the loop until the rdb is live, receives the sockets, and runs it until the rdb has
  // everything that the holder had. Returns early, with OK, if `stop` becomes true. If the holder
  // has ended, `listener` stays as it is. kFailedPrecondition: the rdb lacks rows, or the holder
  // refuses. `pause` begins before it asks for the sockets.
  absl::Status TakeSockets(wire::EventLoop& loop, const bool& stop, const Rdb& rdb,
                           wire::ListenerOptions& listener, std::optional<mem::TouchPause>& pause);
  // Reports that clients are accepted. Calls `done` when the holder has ended.
  void Confirm(wire::EventLoop& loop, std::function<void()> done);

 private:
  explicit Successor(std::unique_ptr<wire::TakeOver> holder) : holder_(std::move(holder)) {}

  std::unique_ptr<wire::TakeOver> holder_;
  bool has_tier_ = false;
  std::optional<wire::Timer> looks_;
};

// The holder's side.
class Holder {
 public:
  enum class End {
    kHandedOver,  // The successor accepts clients.
    kFailed,      // The successor ended, and this process cannot continue.
  };
  // All must outlive this. Calls `end` when the process must end.
  Holder(Rdb* rdb, serve::QueryService* service, Intake* intake, std::function<void(End)> end);

  // Waits for a successor from here on. Logs a warning if that is impossible.
  void Offer(wire::EventLoop& loop);

 private:
  absl::StatusOr<std::string> OnBegin(std::string_view request);
  absl::StatusOr<wire::Released> OnRelease();
  void OnCancelled();
  void OnDone(bool accepts);

  Rdb* const rdb_;
  serve::QueryService* const service_;
  Intake* const intake_;
  const std::function<void(End)> end_;
  std::unique_ptr<wire::HandOver> hand_over_;
};

}  // namespace tickstack::rdb
