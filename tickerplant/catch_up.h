#pragma once

// Subscribers that have fallen behind. Each gets its rows from the log, at the rate at which it
// reads them, until it has caught up.
//
//   live:    publication --> send queue --> socket       its queue grows: the subscriber is slow
//   behind:  log --piece--> send queue --> socket        a piece at a time, when the queue is empty
//
// The log has everything that was published, so a subscriber that is behind costs the tickerplant
// the unsent part of one piece, and not the rows that it lacks. It switches between the two only
// when everything published has been sent to it, which is at a publication or at the log's end. So
// it gets each row once, and the rows of each table in the order of the log:
//
//   log        0 .. 99 | 100 .. 199 | 200 .. 1799 | 1800 ..
//   subscriber live    | slow       | from the log  | live
//                      number 100   ^ 200           ^ 1800
//
// Rows from the log come in the messages of a Publisher, as live ones do: one of each table for a
// piece, filtered for subscriptions to some symbols. Numbered upds carry the number of messages up
// to the piece's end, which is what a publication of the piece would carry (tplog/position.h).
//
// A day may end meanwhile. Then the rest of its log comes first, then `.u.end`, then the next log.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/time.h"
#include "table/schema.h"
#include "tickerplant/publication.h"
#include "tickerplant/publisher.h"
#include "tplog/tplog_place.h"
#include "tplog/tplog_reader.h"
#include "tplog/tplog_writer.h"
#include "wire/upd.h"

namespace tickstack::tickerplant {

class CatchUp {
 public:
  // Bytes of the log that one subscriber is sent at a time: kPieceBytes, or its share of
  // kPiecesBytes if there are many subscribers, but at least kPieceBytesMin.
  static constexpr size_t kPieceBytes = size_t{256} << 10;
  static constexpr size_t kPieceBytesMin = size_t{16} << 10;
  static constexpr size_t kPiecesBytes = size_t{16} << 20;

  // `schemas` must outlive this. `keep_order` as in Publisher.
  CatchUp(std::span<const Schema> schemas, bool keep_order, const Clock* clock);
  ~CatchUp();

  // Continues with a log that was just opened, whose messages count as published. Call it for each
  // log in turn.
  void EnterLog(const tplog::TplogWriter& log);
  // Records that the first `seq` messages of the log are published. `rows` are the published rows
  // of all logs, by table.
  void OnPublished(uint64_t seq, std::span<const uint64_t> rows);

  // Opens the files of the current log for Add. Errors: those of File::OpenForReading.
  absl::Status Prepare();
  // Adds an outlet to which everything published was sent: from now on it is behind. `end` is the
  // end of the current log.
  void Add(Outlet* outlet, std::vector<TableSubscription> subscriptions, tplog::TplogPlace end);
  // Removes an outlet that is no longer behind, and returns its subscriptions; none if it was not
  // behind.
  std::vector<TableSubscription> Take(const Outlet* outlet);
  void Remove(const Outlet* outlet);

  // Queues a message after the rows that are published now. `message` has a frame.
  void QueueFor(const Outlet* outlet, const std::shared_ptr<const ByteBuffer>& message);
  void QueueForAll(const std::shared_ptr<const ByteBuffer>& message);

  // True if Serve has work: an outlet's queue is empty, and it lacks rows or has caught up.
  bool is_due() const;
  struct Failure {
    Outlet* outlet;
    absl::Status why;
  };
  struct Served {
    std::vector<Outlet*> caught_up;  // Have everything that is published, and empty queues.
    std::vector<Failure> failed;     // The log cannot be read for them. They are removed.
  };
  // Sends a piece to each outlet whose queue is empty, in turn, up to about `bytes` bytes of the
  // log.
  Served Serve(size_t bytes);
  // Sends an outlet everything that it lacks, however much that is.
  absl::Status ServeRest(const Outlet* outlet);

  size_t size() const { return followers_.size(); }
  bool Has(const Outlet* outlet) const { return Find(outlet) != nullptr; }
  std::vector<Outlet*> Outlets() const;
  std::vector<const Subscription*> SubscriptionsOf(size_t table) const;

  // How far a subscriber is behind.
  struct Lag {
    // Published rows of its tables that have not been read from the log for it.
    uint64_t rows = 0;
    // Time since the arrival here of the last rows that were read for it; 0 if it lacks nothing.
    int64_t ns = 0;
    int64_t since_ns = 0;  // When it fell behind, by the clock.
  };
  Lag LagOf(const Outlet* outlet) const;  // All zeros if it is not behind.
  // The largest `rows` and the largest `ns` of all subscribers; zeros if nobody is behind. Its
  // since_ns is always 0.
  Lag LagOfFurthest() const;
  // Returns outlets with unsent bytes of which the socket has taken none for `at_most_ns`.
  std::vector<Outlet*> FindStalled(int64_t at_most_ns);

 private:
  struct Follower;
  struct Log {
    std::string path;
    tplog::TplogPlace begin;          // Where its publication began.
    std::optional<uint64_t> end_seq;  // Its number of messages, if its day has ended.
    tplog::TplogFiles files;          // Empty: not opened.
  };

  uint64_t head_log() const { return first_log_ + logs_.size() - 1; }
  Log& LogOf(uint64_t number) { return logs_[number - first_log_]; }
  size_t PieceBytes() const;
  const Follower* Find(const Outlet* outlet) const;
  Follower* Find(const Outlet* outlet);
  Lag LagOf(const Follower& follower) const;
  bool IsAtHead(const Follower& follower) const;
  bool CanServe(const Follower& follower) const;
  bool HasCaughtUp(const Follower& follower) const;
  absl::Status ServePiece(Follower& follower, size_t bytes, size_t* read);
  absl::Status OpenReader(Follower& follower);
  absl::Status Read(Follower& follower, uint64_t end_seq, size_t bytes, size_t* read);
  void SendMessages(Follower& follower);
  void ForgetLogs();

  const std::span<const Schema> schemas_;
  const bool keep_order_;
  const Clock* const clock_;
  std::vector<std::unique_ptr<Follower>> followers_;  // The next to be served is first.
  std::deque<Log> logs_;                              // The last is the current one.
  uint64_t first_log_ = 0;                            // Number of the first of logs_.
  uint64_t head_seq_ = 0;                             // Published messages of the current log.
  std::vector<uint64_t> head_rows_;                   // Published rows by table, in all logs.
  wire::UpdDecoder decoder_;
};

}  // namespace tickstack::tickerplant
