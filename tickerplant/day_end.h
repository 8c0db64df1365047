#pragma once

// The end of a day: when the clock says so, by request, or as the upstream ended it.
//
//   kOpen     Rows are taken.
//     |  the day is over, .u.end, or the upstream's end
//     v
//   kClosing  Everything is published. Closers (day_closers.h) publish their final rows; rows of
//     |       others wait. Left out if there are no closers.
//     |  each closer has called .u.closed, or DayClosers::kWaitNsMax has passed
//     v
//   kDraining  With replication only: all rows wait, so that nothing is staged after a while.
//     |  every staged row is logged
//     v
//   kOffered  With replication only: the standbys were told to begin the next day.
//     |  they have begun it
//     v
//   kOpen     of the next day, whose log gets the rows that waited.
//
// So a day ends at the standbys before it ends here. Without replication, and if an upstream has
// ended the day, it ends when its closers are done.
//
// An end that fails is tried again: the day stays open, rows that waited are logged in it, and the
// next call of EndIfDue begins anew. After the standbys were offered the next day there is no way
// back. Then rows wait until the end succeeds, which is tried every kPauseNs.
//
// Threads: the service's loop.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "table/value.h"
#include "tickerplant/day_closers.h"
#include "tickerplant/held_message.h"
#include "tickerplant/standby/replication.h"
#include "tickerplant/tickerplant.h"
#include "wire/event_loop.h"

namespace tickstack::tickerplant {

class DayEnd {
 public:
  enum class State : uint8_t { kOpen, kClosing, kDraining, kOffered };

  static constexpr int64_t kPauseNs = kNsPerSecond;

  // What the end of a day does to clients and their rows.
  class Host {
   public:
    virtual ~Host() = default;
    // Logs the staged rows, as far as they can be logged now.
    virtual void CommitStaged() = 0;
    // True once the log can no longer be trusted: no replicated day ends any more.
    virtual bool has_failed() const = 0;
    // Sends a message to a client, after the rows that have been published.
    virtual void SendInOrder(uint64_t connection, const Value& message) = 0;
    // Takes messages that waited for the end of the day, in the order in which they came, and reads
    // their connections again. It may end the next day, or hold messages for it.
    virtual void TakeHeld(std::vector<HeldMessage> held) = 0;
  };

  // `plant` and `host` must outlive this.
  DayEnd(wire::EventLoop& loop, Tickerplant* plant, Host* host);
  // Ends days together with the standbys from now on. `replication` must outlive this.
  void set_replication(Replication* replication) { replication_ = replication; }
  void Stop() { closing_timer_.Cancel(); }

  State state() const { return state_; }
  bool is_ending() const { return state_ != State::kOpen; }
  // The clients that have final rows to publish.
  DayClosers& closers() { return closers_; }

  // Ends the day if it is over, and calls Advance. To be called several times a second. Logs
  // errors.
  void EndIfDue();
  // Ends the day by request: immediately, or after the steps above, whose errors are logged.
  // kFailedPrecondition if the day was ended early already, or is ending; errors of
  // Tickerplant::EndDay if it ends immediately.
  absl::Status EndByRequest();
  // Ends the day as the upstream did, begins `next`, and calls `done` with the result of
  // Tickerplant::EndDayTo. Requires that no end has begun.
  void EndAsUpstream(int32_t next, std::function<void(absl::Status)> done);
  // Takes all steps that can be taken now. To be called when rows were logged, or when standbys may
  // have begun the next day.
  void Advance();

  // True if a message has to wait for the end of the day. `may_have_rows`: it has rows, or is of a
  // kind that may contain some. Other messages are answered also while a day ends: a closer that
  // lost its connection can register the next one.
  bool MustWait(uint64_t connection, bool may_have_rows) const;
  // Keeps a message that has to wait. The caller does not read its connection meanwhile, so that
  // its rows stay in their order.
  void Hold(HeldMessage message) { held_.push_back(std::move(message)); }

 private:
  // Why the day ends. Until it has ended, its end has begun.
  struct Ending {
    enum class By : uint8_t { kClock, kRequest, kUpstream } by;
    // If by the upstream:
    int32_t next = 0;
    std::function<void(absl::Status)> done = nullptr;
  };

  void Begin(Ending ending);
  void AskClosers();
  void LeaveClosers();
  void EndHere(const Ending& ending);
  bool EndWithStandbys();

  const Clock& clock_;
  Tickerplant* const plant_;
  Host* const host_;
  Replication* replication_ = nullptr;  // nullptr: the log is here alone.
  wire::Timer closing_timer_;
  DayClosers closers_;
  State state_ = State::kOpen;
  std::optional<Ending> ending_;  // nullopt: no end has begun.
  int32_t next_ = 0;              // In kDraining and kOffered: the day that follows.
  int64_t again_ns_ = 0;          // In kOffered: MonotonicNs of the next attempt.
  // In the order of their arrival.
  std::vector<HeldMessage> held_;
};

}  // namespace tickstack::tickerplant
