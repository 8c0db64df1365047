#pragma once

// The feed: takes rows from a source as they come due and hands them to the tickerplant, each
// exactly once.
//
//              Start()       connected           answer            source at its end
//   waiting ----------> asking -------> rewind, publishing --------------------> confirming -->
//   done
//                          ^                    |                                    |
//                          '---- disconnected --'------------------------------------'
//
// One sender: rows of two feeds under one name would be taken for each other's. So with its first
// question of a connection the feed claims its name (`.u.feed[name;instance]`). While another feed
// has it, the state is `held`: it asks again, kHeldNsMax apart, and publishes nothing. Once another
// feed has taken the name over, this one fails; it does not take the name back.
//
// Exactly once: every message carries a name (NumberedName) and the number of its first row
// (`.u.updn[name;row;table;x]`); the tickerplant drops rows that it has. On every connection the
// feed first asks `.u.feed[name]` how many rows of each table are logged, rewinds its source to
// there and goes on. The same question, once a second and at the end, is the receipt. Rows that
// were refused show in it as rows that never become logged, and a tickerplant of ours says so
// besides
// (`.u.err`). They are then counted, logged as an error, and sent again, kResendsMax times without
// progress; after that the feed fails.
//
// A tickerplant that does not know `.u.feed` (plain kdb+tick) gets `.u.upd[table;x]`: whatever was
// on its way when such a connection breaks is lost or not, and nobody can tell.
//
// This is the state machine: it has no socket and no clock of its own. Threads: one owner.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/string_map.h"
#include "feed/source.h"
#include "table/value.h"

namespace tickstack::feed {

enum class FeedState { kWaiting, kAsking, kHeld, kPublishing, kConfirming, kDone, kFailed };
std::string_view NameOf(FeedState state);

// What the feed needs of its connection to the tickerplant.
class Link {
 public:
  virtual ~Link() = default;
  virtual void Send(ByteBuffer messages) = 0;  // Whole messages, headers included.
  virtual void Ask(const Value& request) = 0;  // The answer goes to Feed::OnAnswer.
  virtual size_t queued_bytes() const = 0;     // Sent by us and not yet taken by the system.
};

struct FeedSettings {
  std::string name = "feed";  // Under which its rows are numbered.
  // Tells this process from others that use the name; drawn at random. Empty: claims no name.
  std::string instance = {};
  bool take_over = false;  // Claims the name the first time whoever has it.
  int64_t batch_ns = 0;    // Rows leave at most this long after they were due; 0: at once.
  size_t queue_bytes_max = size_t{8} << 20;
};

class Feed {
 public:
  static constexpr int kResendsMax = 3;
  static constexpr int64_t kReceiptNs = 1'000'000'000;      // Between two receipts.
  static constexpr int64_t kConfirmNs = 20'000'000;         // Between receipts after the last row.
  static constexpr int64_t kRefusedNs = 2'000'000'000;      // Unlogged rows then count as refused.
  static constexpr int64_t kHeldNsMin = 100'000'000;        // First pause before a retry.
  static constexpr int64_t kHeldNsMax = 1'000'000'000;      // Longest such pause; it doubles.
  static constexpr int64_t kQueueFullNs = 200'000;          // Pause when the queue is full.
  static constexpr size_t kPollBytesMax = size_t{4} << 20;  // Bytes sent by one call, about 2 ms.

  Feed(FeedSettings settings, std::unique_ptr<Source> source);

  // Each takes the time of the call, ns since 2000; it never goes back.
  void Start(int64_t now_ns);                    // Again: nothing happens.
  void OnConnected(Link* link, int64_t now_ns);  // `link` is used until OnDisconnected.
  void OnDisconnected(int64_t now_ns);
  void OnAnswer(const absl::StatusOr<Value>& answer, int64_t now_ns);
  void OnRefused(std::string_view why, int64_t now_ns);  // The tickerplant refused a message.

  // Sends due rows while the connection's queue has room. Returns the time of the next call;
  // kNeverDue: call after the next event.
  int64_t Poll(int64_t now_ns);

  FeedState state() const { return state_; }
  bool finished() const { return state_ == FeedState::kDone || state_ == FeedState::kFailed; }
  const absl::Status& error() const { return error_; }  // Why it failed.
  bool taken_over() const { return taken_over_; }       // It failed because it lost its name.
  const Source& source() const { return *source_; }
  const StringMap<int64_t>& rows_sent() const { return rows_sent_; }
  const StringMap<int64_t>& rows_logged() const { return rows_logged_; }

  // The answer to `.feed.stats[]`: a dictionary.
  //   state       symbol: waiting asking held publishing confirming done failed; held: another feed
  //               has the name, `error` says which
  //   connected   boolean
  //   numbered    boolean: the tickerplant knows `.u.feed`
  //   rows, logged   dictionaries, table -> long: published, and of these known to be logged
  //   rows_per_s  float: over the last second and more
  //   lag_ms      float: how long ago the next row to send was due; 0 when the feed is in time
  //   lag_ms_max  float: the largest lag at which a message left
  //   reconnects, refused, queue_full   longs: connections after the first; rows that had to be
  //   sent
  //               again; how often the queue was full
  //   error       string: why it failed, or who holds its name
  //   name, instance   symbols: what its rows are numbered under, and this process
  Value Stats(int64_t now_ns) const;

 private:
  void AskRows(int64_t now_ns);
  void OnRows(const Value& answer, int64_t now_ns);
  void OnHeld(const absl::Status& why, int64_t now_ns);
  void Resume(const StringMap<int64_t>& logged, int64_t now_ns);
  void CheckReceipt(StringMap<int64_t> logged, int64_t now_ns);
  void SendAgain(int64_t now_ns);
  void Publish(int64_t now_ns);
  absl::StatusOr<std::optional<int64_t>> SendDue(int64_t now_ns);
  void AppendMessage(const FeedBatch& batch);
  void SendPending();
  void Fail(absl::Status why);
  void CountRate(int64_t now_ns);
  bool AllLogged() const;
  int64_t NextCall(int64_t now_ns) const;

  const FeedSettings settings_;
  std::unique_ptr<Source> source_;
  FeedState state_ = FeedState::kWaiting;
  absl::Status error_;
  absl::Status held_;          // Names the owner, in state kHeld.
  int64_t held_pause_ns_ = 0;  // Before the name is requested again.
  bool take_over_;             // The next claim is a take-over.
  bool taken_over_ = false;

  Link* link_ = nullptr;
  bool numbered_ = true;  // The tickerplant knows `.u.feed`.
  bool clock_started_ = false;
  bool answer_pending_ = false;
  int64_t ask_ns_ = 0;               // When to ask next.
  int64_t flush_ns_ = 0;             // Rows wait until then (batch_ns).
  std::optional<int64_t> pause_ns_;  // Pause before sending more; nullopt: all is sent.

  ByteBuffer pending_;              // Messages on their way to the link.
  StringMap<int64_t> rows_sent_;    // Per table, of all connections: numbers of the rows to come.
  StringMap<int64_t> rows_asked_;   // rows_sent_ when the pending question left.
  StringMap<int64_t> rows_logged_;  // As last answered.
  int64_t progress_ns_ = 0;         // When rows_logged_ last grew, or had all.
  int resends_ = 0;                 // Without progress in between.
  std::string refusal_;             // What the tickerplant said since the last receipt.

  int64_t rows_total_ = 0;  // Sent, again ones included.
  int64_t rate_rows_ = 0;   // rows_total_ at rate_ns_.
  int64_t rate_ns_ = 0;
  double rows_per_s_ = 0;
  int64_t lag_ns_max_ = 0;
  int64_t connects_ = 0;
  int64_t refused_ = 0;
  int64_t queue_full_count_ = 0;
};

}  // namespace tickstack::feed
