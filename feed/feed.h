#pragma once

// The feed: takes due rows from a source and sends them to the tickerplant, each exactly once.
//
//             Start()        connected             answer             end of source
//   waiting ----------> asking -------> rewind, publishing ----------> confirming
//                          ^                    |                       |      |  all rows logged
//                          '---- disconnected --'-----------------------'      '--------> done
//
// One sender per name: the tickerplant counts rows by the name of their feed, so two feeds must not
// send under one name at the same time. The first request on each connection therefore claims the
// name (`.u.feed[name;instance]`). While another feed owns it, the state is `held`: the feed
// publishes nothing, and repeats the claim at intervals of up to kHeldNsMax. A feed whose name is
// taken over by another one fails, and does not claim it again. So does a feed that the tickerplant
// refuses because of its map of shards (`shard:`, `again:`).
//
// Several shards: the feed of one shard sends its first row only when all of them have answered
// their claims (Admit), because each can refuse the source. A shard that has rows of this feed
// already was admitted before.
//
// Exactly once: every message contains the feed's name (NumberedName) and the number of its first
// row (`.u.updn[name;row;table;x]`), and the tickerplant drops rows that it has already logged. The
// answer to the claim says how many rows of each table are logged; the feed rewinds its source to
// there and continues. It repeats this request once per second and at the end, to learn which rows
// have been logged since.
//
// Refused rows: rows that the tickerplant refuses are never logged; it may also report them
// (`.u.err`). The feed counts them, logs an error, and sends them again. It fails after kResendsMax
// repetitions during which no further row was logged.
//
// Plain kdb+tick does not know `.u.feed`. It gets `.u.upd[table;x]`, which has no numbers: messages
// that are under way when such a connection breaks may be lost.
// A live source keeps its rows until it is told that they are logged, so it needs numbers: without
// them the feed fails.
//
// This class is a state machine without socket or clock. Threads: one owner.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/name_map.h"
#include "feed/sources/source.h"
#include "table/value.h"

namespace tickstack::feed {

enum class FeedState { kWaiting, kAsking, kHeld, kPublishing, kConfirming, kDone, kFailed };
std::string_view NameOf(FeedState state);

// The interface of the feed's connection to the tickerplant.
class Link {
 public:
  virtual ~Link() = default;
  virtual void Send(ByteBuffer messages) = 0;  // Whole messages, headers included.
  virtual void Ask(const Value& request) = 0;  // The answer goes to Feed::OnAnswer.
  virtual size_t queued_bytes() const = 0;  // Sent by the feed and not yet accepted by the system.
};

struct FeedSettings {
  std::string name = "feed";  // Its rows are numbered under this name.
  std::string shard = {};     // For log lines; empty without shards.
  // A random text that distinguishes this process from others with the same name. If empty, the
  // feed asks for its rows without claiming the name.
  std::string instance = {};
  bool take_over = false;  // True: the first claim of the name is a take-over.
  // True: sends the source although rows of it are logged under another map of shards.
  bool again = false;
  // True: sends no first row before Admit is called.
  bool waits_for_others = false;
  int64_t batch_ns = 0;  // Longest time that a due row may wait for others; 0 sends at once.
  size_t queue_bytes_max = size_t{8} << 20;
  // If the source has no pace, asks the tickerplant not to read this feed while a subscriber is
  // more than this many rows behind; 0: does not ask.
  int64_t window_rows = 0;
};

class Feed {
 public:
  static constexpr int kResendsMax = 3;
  static constexpr int64_t kReceiptNs = 1'000'000'000;  // Interval between acknowledgements.
  // Longest time until the next call. Rows are due by the wall clock, which timers do not follow if
  // somebody sets it: a feed that waits for a time that is an hour off must notice the correction.
  static constexpr int64_t kClockLookNs = 1'000'000'000;
  // Interval between acknowledgements after the last row.
  static constexpr int64_t kConfirmNs = 20'000'000;
  // After this time, rows that are not logged count as refused.
  static constexpr int64_t kRefusedNs = 2'000'000'000;
  static constexpr int64_t kHeldNsMin = 100'000'000;        // First pause before a retry.
  static constexpr int64_t kHeldNsMax = 1'000'000'000;      // Longest such pause; it doubles.
  static constexpr int64_t kQueueFullNs = 200'000;          // Pause when the queue is full.
  static constexpr size_t kPollBytesMax = size_t{4} << 20;  // Bytes sent by one call, about 2 ms.

  Feed(FeedSettings settings, std::unique_ptr<Source> source);

  // `now_ns` is the current time in ns since 2000, which must not decrease from call to call, apart
  // from steps that OnClockSet has told.
  void Start(int64_t now_ns);                    // Repeated calls have no effect.
  void OnConnected(Link* link, int64_t now_ns);  // `link` is used until OnDisconnected.
  void OnDisconnected(int64_t now_ns);
  void OnAnswer(const absl::StatusOr<Value>& answer, int64_t now_ns);
  void OnRefused(std::string_view why, int64_t now_ns);  // The tickerplant refused a message.
  // The wall clock was set ahead by `ns`, or back if negative. The feed goes on at its pace: rows
  // of the time that the clock skipped are not due at once, and those of a repeated time do not
  // wait.
  void OnClockSet(int64_t ns);

  // Sends due rows while the connection's queue has room. Returns the time of the next call;
  // kNeverDue: call after the next event.
  int64_t Poll(int64_t now_ns);

  FeedState state() const { return state_; }
  const std::string& name() const { return settings_.name; }  // Its rows are numbered under it.
  bool finished() const { return state_ == FeedState::kDone || state_ == FeedState::kFailed; }
  const absl::Status& error() const { return error_; }  // Why it failed.
  bool taken_over() const { return taken_over_; }  // True if it failed because it lost its name.
  // True if a claim was granted, so that the tickerplant has no objection to this source.
  bool granted() const { return granted_; }
  void Admit(int64_t now_ns);  // All shards have granted their claims.
  const Source& source() const { return *source_; }
  LiveInput* live_input() const { return source_->live_input(); }  // Source::live_input.
  const NameMap<int64_t>& rows_sent() const { return rows_sent_; }
  const NameMap<int64_t>& rows_logged() const { return rows_logged_; }

  // Returns the answer to `.feed.stats[]`: a dictionary.
  //   state          symbol: waiting asking held publishing confirming done failed; if held,
  //                  `error` says which feed has the name
  //   connected      boolean
  //   numbered       boolean: the tickerplant knows `.u.feed`
  //   rows, logged   dictionaries, table -> long: published rows, and those known to be logged
  //   messages       dictionary, name -> long: what the source has read, if it counts that
  //   line_packets   dictionary, line -> long: packets that a live source received
  //   line_bytes     likewise: bytes of their payloads
  //   line_lost      likewise: packets that the kernel dropped
  //   line_repeated  likewise: messages that were received before
  //   line_bad       likewise: packets that do not fit
  //   rows_total     long: rows sent by this process, with those that were sent again
  //   rows_per_s     float: over at least the last second
  //   lag_ms         float: how long the next row to send has been due; 0 if the feed is in time
  //   lag_ms_max     float: the largest lag of a sent message
  //   reconnects     long: connections after the first
  //   refused        long: rows that had to be sent again
  //   queue_full     long: how often the queue was full
  //   error          string: why it failed, or which feed has its name
  //   name           symbol: the name under which its rows are numbered
  //   instance       symbol: identifies this process
  Value Stats(int64_t now_ns) const;

 private:
  void AskRows(int64_t now_ns);
  void OnRows(const Value& answer, int64_t now_ns);
  void OnHeld(const absl::Status& why, int64_t now_ns);
  void Resume(const NameMap<int64_t>& logged, int64_t now_ns);
  void WaitForOthers(int64_t now_ns);
  void AskForWindow();
  void CheckReceipt(NameMap<int64_t> logged, int64_t now_ns);
  void SendAgain(int64_t now_ns);
  void Publish(int64_t now_ns);
  absl::StatusOr<std::optional<int64_t>> SendDue(int64_t now_ns);
  void AppendMessage(const FeedBatch& batch);
  void SendPending();
  void Fail(absl::Status why);
  void CountRate(int64_t now_ns);
  std::string ShardText() const;
  bool AllLogged() const;
  int64_t NextCall(int64_t now_ns) const;

  const FeedSettings settings_;
  std::unique_ptr<Source> source_;
  FeedState state_ = FeedState::kWaiting;
  absl::Status error_;
  absl::Status held_;          // Names the owner, in state kHeld.
  int64_t held_pause_ns_ = 0;  // Pause before the name is claimed again.
  bool take_over_;             // True: the next claim is a take-over.
  bool taken_over_ = false;
  bool granted_ = false;   // A claim was granted.
  bool admitted_ = false;  // It may send a first row.

  Link* link_ = nullptr;
  bool numbered_ = true;  // True if the tickerplant knows `.u.feed`.
  bool clock_started_ = false;
  bool answer_pending_ = false;
  int64_t ask_ns_ = 0;               // Time of the next request.
  int64_t flush_ns_ = 0;             // Time until which rows wait for others (batch_ns).
  std::optional<int64_t> pause_ns_;  // Pause before sending more; nullopt: everything is sent.

  ByteBuffer pending_;            // Encoded messages that were not passed to the link yet.
  NameMap<int64_t> rows_sent_;    // By table, over all connections: the number of the next row.
  NameMap<int64_t> rows_asked_;   // rows_sent_ when the pending request was sent.
  NameMap<int64_t> rows_logged_;  // By table, as of the last answer.
  int64_t progress_ns_ = 0;       // When rows_logged_ last increased, or had all rows.
  int resends_ = 0;               // Resends since the last progress.
  std::string refusal_;           // What the tickerplant reported since the last acknowledgement.

  int64_t rows_total_ = 0;  // Sent rows, including repeated ones.
  int64_t rate_rows_ = 0;   // rows_total_ at rate_ns_.
  int64_t rate_ns_ = 0;
  double rows_per_s_ = 0;
  int64_t lag_ns_max_ = 0;
  int64_t connects_ = 0;
  int64_t refused_ = 0;
  int64_t queue_full_count_ = 0;
};

}  // namespace tickstack::feed
