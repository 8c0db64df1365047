#pragma once

// The part of a chained tickerplant that reads its upstream: another tickerplant, whose rows it
// logs and publishes, each once and in order.
//
//   connect -> ask for the leader's epoch, which no later one may have replaced (leader_epoch.h)
//           -> compare the tables and schemas, and the first message of the log that is copied
//           -> `.u.chain[date; from; bytes]`, a piece of the day's log
//                 messages: stage and log their rows, ask for the next piece
//                 none:     the day is over: end it here too, and begin the next day's log
//                           otherwise ask again after the poll interval
//
// Nothing is subscribed to: the next piece is requested when the one before it is logged here. So
// the upstream keeps no rows for this process, and this process keeps at most one piece.
//
// Exactly once: rows are numbered under UpstreamName (upstream_rows.h), and the tickerplant drops
// those that it has logged. A restarted process reads the upstream's log from its mark
// (upstream_mark.h) on, or from its beginning.
//
// What it cannot copy, it refuses with an error that says why, and tries again every kRefusedPause:
// an upstream without `.u.chain`, a table that is missing here, other schemas, another log than the
// one that was begun, or a log that lost messages whose rows are logged here.
//
// Each member of a cluster has power cuts of its own, and gets the rows that they took from the
// others. So whether the log of a leader with standbys lost messages is known by the last one that
// was read here, and by cuts after it. Then the mark is written after each piece.
//
// Threads: everything on the loop's thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tickerplant/chained/upstream_mark.h"
#include "tickerplant/chained/upstream_rows.h"
#include "tickerplant/tickerplant.h"
#include "tplog/leader_epoch.h"
#include "wire/client.h"
#include "wire/event_loop.h"

namespace tickstack::tickerplant {

struct UpstreamOptions {
  wire::Address address;
  std::vector<std::string> symbols;  // Empty: all.
  // True: an upstream with a table that the tickerplant here lacks is refused. False: only the
  // tables here are copied.
  bool all_tables = false;
  int64_t poll_ns = 5'000'000;             // Pause before the next request at the end of the log.
  int64_t piece_bytes = int64_t{1} << 20;  // Bytes of the log in one answer.
};

// The tickerplant that gets the rows.
class UpstreamTarget {
 public:
  virtual ~UpstreamTarget() = default;
  virtual Tickerplant& plant() = 0;
  // Logs the staged rows. False while the disk is full, and after the log has failed.
  virtual bool LogRows() = 0;
  // Ends the day after the last rows of closers, begins the day `next`, and calls `done`.
  virtual void EndDayTo(int32_t next, std::function<void(absl::Status)> done) = 0;
};

class Upstream final : public wire::ClientHandler {
 public:
  static constexpr std::chrono::seconds kRefusedPause{5};
  // A request without an answer for this long closes the connection.
  static constexpr std::chrono::seconds kAnswerMax{60};

  // Starts connecting from the loop. `target` must outlive this. Errors: those of
  // UpstreamRows::Create; kFailedPrecondition if today's log has rows of this upstream by other
  // symbols, or messages of which it is not known whether they are the upstream's.
  static absl::StatusOr<std::unique_ptr<Upstream>> Open(wire::EventLoop& loop,
                                                        const UpstreamOptions& options,
                                                        UpstreamTarget* target);
  ~Upstream() override;

  // Writes the mark, closes the connection and takes no more rows.
  void Stop();

  // The answer to `.u.upstream[]`.
  Value Stats() const;

  void OnConnected(wire::Connection& connection) override;
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override;
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection& connection, const absl::Status& why) override;

 private:
  using Answered = std::function<void(const absl::StatusOr<Value>&)>;
  // A power cut that shortened the upstream's log to `messages`. Rows that are logged here must be
  // among those of these messages.
  struct Cut {
    uint64_t messages = 0;
    NameMap<uint64_t> logged_rows;
  };

  Upstream(wire::EventLoop& loop, UpstreamOptions options, UpstreamTarget* target,
           UpstreamRows rows);

  absl::Status BeginDay();
  void RestoreMark();
  void WriteMark();

  void Ask(const Value& request, Answered done);
  void AskEpoch();
  void CheckTables();
  void CheckSchemas(size_t table);
  void CheckFirstMessage();
  void CheckLastMessage();
  void Read();
  void OnPiece(const absl::StatusOr<Value>& answer);
  absl::Status NoteCuts(const std::vector<uint64_t>& cuts);
  absl::Status NoteMemberCuts(const std::vector<uint64_t>& cuts);
  absl::Status CheckCuts();
  absl::Status TakeMessages(std::span<const std::byte> messages,
                            const std::shared_ptr<const void>& owner);
  void LogAndContinue(bool is_at_end, std::optional<int32_t> next_date);
  void FindNextDay();
  void EndDay(int32_t next);
  void Refuse(const absl::Status& why);
  NameMap<uint64_t> LoggedRows() const;
  int64_t BehindNs() const;

  wire::EventLoop& loop_;
  const UpstreamOptions options_;
  UpstreamTarget* const target_;
  wire::Timer pause_;
  wire::Timer answer_due_;
  // Expires with this object, so that later callbacks do nothing.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  // Identifies the requests that a callback belongs to. A connection, its end, a retry and a new
  // day begin others, so that two requests never read the same messages.
  uint64_t turn_ = 0;
  bool is_ending_day_ = false;
  wire::Connection* connection_ = nullptr;
  tplog::LeaderEpoch leader_;
  bool stopped_ = false;

  // The day that is being copied.
  std::string name_;
  UpstreamRows rows_;
  uint64_t seq_ = 0;                   // The upstream's next message.
  std::optional<uint32_t> first_crc_;  // CRC of the upstream's first message.
  std::optional<uint32_t> last_crc_;  // CRC of message seq_ - 1, if a leader with standbys sent it.
  uint64_t cuts_noted_ = 0;           // Number of the log's power cuts that have been seen.
  uint64_t cuts_checked_ = 0;         // Those before the first one that is in cuts_.
  std::vector<Cut> cuts_;             // Cuts to check when their message is reached.
  bool member_cuts_noted_ = false;    // Those of the leader with standbys are in cuts_.
  int64_t marked_ns_ = 0;             // MonotonicNs of the last mark.
  uint64_t marked_seq_ = 0;

  std::string refused_;                     // Why nothing is copied; empty: it is.
  std::string lost_ = "not connected yet";  // Why there is no connection.
  int64_t lost_ns_ = 0;                     // MonotonicNs of the last loss; 0: none.
  bool is_at_end_ = false;
  int64_t at_end_ns_;                     // MonotonicNs of the last time at the end of the log.
  std::optional<uint64_t> log_messages_;  // Messages of the upstream's log, as last heard.
  uint64_t reconnects_ = 0;
  uint64_t refusals_ = 0;
  uint64_t days_missing_ = 0;  // Days whose rest the upstream does not have any more.
  uint64_t days_skipped_ = 0;  // Days between two days that have no log.

  std::unique_ptr<wire::Client> client_;  // Last: its callbacks use the rest.
};

// Returns the day that a chained tickerplant opens: the newest in its directory if that has not
// ended; otherwise the first later day of the upstream or, if the directory has no log, the
// upstream's today. Asks the upstream until it answers, so this may block for long. Errors: those
// of Tickerplant::FindNewestDay; kFailedPrecondition if the upstream cannot be copied.
absl::StatusOr<int32_t> DayToFollow(const TickerplantOptions& plant, const UpstreamOptions& options,
                                    const Clock* clock);

// Returns the same for a directory whose newest day, if any, has ended, by the upstream's answer to
// tplog::LogDaysRequest(); nullopt if the upstream has no later day yet.
absl::StatusOr<std::optional<int32_t>> DayToFollow(
    const std::optional<Tickerplant::NewestDay>& newest, const Value& logs);

}  // namespace tickstack::tickerplant
