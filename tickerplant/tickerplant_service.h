#pragma once

// The tickerplant's connections: takes messages from feeds and subscribers, and decides when to
// log, publish and end the day.
//
//   feed -> OnMessage: stage -> OnDrained: commit (one log write per read)
//        -> publish, on the timer or immediately
//
// A subscriber that is behind is served from the log in turns of the loop (catch_up.h). Its
// requests are answered when it has caught up, as if they had waited in its queue like the rows
// before them; rows that it publishes are taken immediately.
//
// While the disk is full, feeds are not read and the write is retried; subscribers and queries are
// served.
//
// What waits is in classes of their own: answers for the log (answer_queue.h), rows for the next
// day (day_end.h), and connections that are not read (read_gate.h).
//
// Threads: everything runs on the loop's thread.

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "security/user_rights.h"
#include "tickerplant/answer_queue.h"
#include "tickerplant/batch_clock.h"
#include "tickerplant/chained/upstream.h"
#include "tickerplant/connection_outlet.h"
#include "tickerplant/day_end.h"
#include "tickerplant/feed_names.h"
#include "tickerplant/feed_windows.h"
#include "tickerplant/held_message.h"
#include "tickerplant/log_ranges.h"
#include "tickerplant/publishers.h"
#include "tickerplant/read_gate.h"
#include "tickerplant/standby/replication.h"
#include "tickerplant/standby/standbys.h"
#include "tickerplant/tickerplant.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::tickerplant {

class TickerplantService : public wire::ServerHandler, public UpstreamTarget, public DayEnd::Host {
 public:
  // Publishes at the times of `batches`. `on_failed` is called once, when the log can no longer be
  // trusted: after a failed fsync or an I/O error.
  TickerplantService(wire::EventLoop& loop, std::unique_ptr<Tickerplant> tickerplant,
                     const BatchClock& batches, std::function<void(absl::Status)> on_failed);
  // Disconnects a subscriber that is behind and has read nothing for this long; 0: never.
  void set_stall_max(std::chrono::nanoseconds at_most) { stall_max_ns_ = at_most.count(); }
  // Copies the rows of another tickerplant from now on, which also ends the days. The tickerplant
  // must have been opened with `follows_upstream`. Errors: those of Upstream::Open.
  absl::Status Follow(const UpstreamOptions& options);
  // Leads standbys from now on: rows are logged when those in sync have them. Until the new
  // leader's log is settled (standbys.h), all clients but standbys are refused. `in_sync` must
  // outlive this.
  void Lead(StandbysOptions options, InSyncSet* in_sync);
  // As above, with another kind of replication, whose progress is to be told.
  void Lead(std::unique_ptr<Replication> replication);
  // To be called when rows may be logged that could not be logged before.
  void OnReplicationProgress();
  // The leader's number; 0: the log is not replicated.
  uint64_t epoch() const { return replication_ == nullptr ? 0 : replication_->epoch(); }
  // nullptr: it leads no standbys.
  const Standbys* standbys() const { return standbys_; }
  // Up to where this leader has logged rows; the date is null until it serves clients.
  ReplicaPlace logged() const {
    return {serves_ ? tickerplant_->date() : kNullInt, tickerplant_->logged_seq()};
  }
  ~TickerplantService() override;

  void OnOpened(wire::Connection& connection) override;
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  void OnDrained(wire::Connection& connection) override;
  void OnSent(wire::Connection& connection) override;
  void OnClosed(wire::Connection& connection, const absl::Status& why) override;

  // OK if the tickerplant can give its log to a successor now. kUnavailable, with the reason, while
  // a day ends, the log of an ended day is synced, or rows wait for space on the disk.
  absl::Status MayHandOver();
  // Stops the timer, publishes all pending rows and closes the log.
  absl::Status Close();
  // Messages that arrived, without requests of chained tickerplants that found no rows.
  uint64_t messages_seen() const { return messages_seen_; }
  const Tickerplant& tickerplant() const { return *tickerplant_; }
  // The answers to `.u.stats[]` and `.u.activity[]`.
  Value Stats() const;
  Value ActivityOfToday(const security::Access& access = {}) const;
  // The answer to `.u.upstream[]`. kNotFound if nothing is copied.
  absl::StatusOr<Value> UpstreamStats() const;
  // The answer to `.u.replica[]`. kNotFound if no standbys are led.
  absl::StatusOr<Value> ReplicaStats() const;

  // UpstreamTarget:
  Tickerplant& plant() override { return *tickerplant_; }
  bool LogRows() override;
  void EndDayTo(int32_t next, std::function<void(absl::Status)> done) override;

  // DayEnd::Host:
  void CommitStaged() override;
  bool has_failed() const override { return failed_; }
  void SendInOrder(uint64_t connection, const Value& message) override;
  void TakeHeld(std::vector<HeldMessage> held) override;

 private:
  class Verbs;
  struct Verb;

  void Take(wire::Connection& connection, const wire::ReceivedMessage& message);
  void StageMessage(wire::Connection& connection, const wire::ReceivedMessage& message,
                    const Verb& verb);
  absl::Status StagePlain(wire::Connection& sender, std::span<const std::byte> body,
                          const std::shared_ptr<const void>& owner);
  absl::Status StageNumbered(wire::Connection& sender, std::span<const std::byte> body,
                             const std::shared_ptr<const void>& owner);
  const std::vector<bool>* AllowedTables(const wire::Connection& sender) const;
  absl::Status MayUseFeed(const wire::Connection& sender, std::string_view feed,
                          bool takeover) const;
  absl::Status ClaimFeed(wire::Connection& connection, std::string_view name,
                         std::string_view instance, bool takeover);
  void Evaluate(wire::Connection& connection, const wire::ReceivedMessage& message);
  Value LoggedRowsOf(std::string_view feed, const wire::Connection& of) const;
  void EndIfLogFailed();
  void Fail(const absl::Status& why);
  void AnswerWaiting();
  absl::StatusOr<Value> ValueOf(const Receipt& receipt, const wire::Connection& of) const;
  void SetReading(uint64_t connection, bool is_read);
  void RetryLater(const wire::Connection& feed);
  void SayAliveTo(wire::Connection& connection);
  void SayAlive();
  void HoldForStandbys(const wire::Connection& connection);
  void BeginToServe();
  void HoldForNextDay(const wire::Connection& connection, const wire::ReceivedMessage& message);
  ConnectionOutlet& OutletOf(wire::Connection& connection);
  const Outlet* BehindOutletOf(const wire::Connection& connection) const;
  void ServeBehind();
  void TakeServeTurn();
  void GoLive(const Outlet* outlet);
  void DropStalled();
  void HoldFeed(const wire::Connection& connection);
  void ReleaseFeeds();

  wire::EventLoop& loop_;
  const Clock& clock_;
  std::unique_ptr<Tickerplant> tickerplant_;
  const BatchClock batches_;
  const std::function<void(absl::Status)> on_failed_;
  DayEnd day_end_;
  wire::Timer batch_timer_;
  wire::Timer day_timer_;
  wire::Timer retry_timer_;
  std::unordered_map<uint64_t, std::shared_ptr<wire::Connection>> connections_;
  std::unordered_map<uint64_t, std::unique_ptr<ConnectionOutlet>> outlets_;  // By connection.
  // For connections that may not publish to all tables: whether they may, by the table's index.
  std::unordered_map<uint64_t, std::vector<bool>> may_publish_;
  AnswerQueue answers_;
  ReadGate gate_;
  // Clients that know several tickerplants, and leave this one if they hear nothing from it.
  std::vector<std::weak_ptr<wire::Connection>> told_alive_;
  wire::Timer alive_timer_;
  FeedNames feed_names_{&clock_};
  FeedWindows feed_windows_;
  // The last accepted numbered upd: its bytes up to the feed's name, and its sender. The sender
  // still owns the name if FeedNames::changes() is still `changes`.
  struct LastSender {
    uint64_t connection = 0;
    uint64_t changes = 0;
    ByteBuffer begin;
  };
  LastSender last_sender_;
  Publishers publishers_;
  uint64_t stager_ = 0;  // Id of the connection that staged last.
  LogRanges log_ranges_;
  std::unordered_map<uint64_t, LogRanges> chained_;  // Of chained tickerplants, by connection.
  std::unique_ptr<Replication> replication_;         // nullptr: the log is here alone.
  Standbys* standbys_ = nullptr;                     // replication_, if it is of this kind.
  bool serves_ = false;  // With replication: clients are not refused any more.
  wire::Timer replication_timer_;
  bool serve_turn_posted_ = false;
  int64_t stall_max_ns_ = 600 * kNsPerSecond;
  // Expires with this object, so that later callbacks do nothing.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  uint64_t messages_seen_ = 0;
  uint64_t dropped_ = 0;
  bool failed_ = false;
  bool disk_full_ = false;
  std::unique_ptr<Upstream> upstream_;  // Last: it calls the rest. nullptr: nothing is copied.
};

}  // namespace tickstack::tickerplant
