#pragma once

// Keeps a state subscribed to a tickerplant: every row once, across losses and restarts of either.
//
//   connect -> `.u.cuts`, `.u `i`L` -> while the log is far ahead: replay up to i, ask again
//           -> `.u.subx[`;`]`: from log message i on everything will be published; stop reading
//           -> replay the rest up to i -> read on: live
//
// The long replay comes before subscribing, so that a tickerplant never waits for a subscriber that
// is busy with the morning. What is published during the short one waits in the connection, where
// the tickerplant's own bound holds.
//
// The log is read from its file if that can be opened and begins with the message that the
// tickerplant's log begins with; otherwise `.u.log` streams it over a second connection, since the
// first may not be read meanwhile.
//
// A tickerplant without `.u.subx` is plain kdb+tick: it gets the request of kdb+tick's own RDB, and
// its log file is replayed as far as it says. Its upds carry no numbers, so after a loss the state
// is emptied and filled again.
//
// A state that outlived its process is kept if the tickerplant's log has the path, and begins with
// the message, of the log that it follows; otherwise it is emptied. The same happens to a state
// that has rows which a power cut took from the tickerplant's log since: `.u.cuts`.
//
// Threads: everything on the loop's thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/logging.h"
#include "base/time.h"
#include "wire/client.h"
#include "wire/event_loop.h"
#include "wire/log_replay.h"
#include "wire/subscribed_state.h"
#include "wire/subscription_answer.h"

namespace tickstack::wire {

struct SubscriberOptions {
  Address tickerplant;
  ClientOptions client;
  bool read_log_file = true;  // Off: the log is always streamed.
  // What is published to us; empty: all tables. The state hears of all schemas either way. A replay
  // hands on every message, and a plain kdb+tick publishes all tables whatever this says.
  std::vector<std::string> tables;
  // Rows are wanted when they are logged, not when the tickerplant's batch leaves. One of ours
  // grants it if it publishes in batches.
  bool ahead = false;
};

class Subscriber : public ClientHandler {
 public:
  // Starts connecting from the loop. `state` outlives the subscriber.
  Subscriber(EventLoop& loop, const SubscriberOptions& options, SubscribedState* state);
  ~Subscriber() override;

  // How others are published to, if what comes here is ahead of that. Of the last subscription.
  const std::optional<BatchTimes>& ahead_of() const { return ahead_of_; }
  bool is_numbered() const { return numbered_; }  // The tickerplant is one of ours.
  Connection* connection() const { return client_->connection(); }  // nullptr: there is none.

  void OnConnected(Connection& connection) override;
  void OnMessage(Connection& connection, const ReceivedMessage& message) override;
  void OnDrained(Connection& connection) override;
  void OnClosed(Connection& connection, const absl::Status& why) override;
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override;

 private:
  class LogStream;
  using Next = void (Subscriber::*)();

  void AskVersion();
  void AskCuts();
  void AskPosition();
  void CheckLogFile(uint64_t seq);
  void CatchUpOrSubscribe(uint64_t seq);
  void AskSchemas(uint64_t seq);
  void Subscribe();
  void SubscribeNumbered(bool ahead);
  void SubscribePlain();
  void OnSubscribed(const SubscriptionAnswer& answer);
  void GoLive();
  // Makes sure that the state stands in this log; it starts over if it stands in another.
  // `first_crc` is that of the log's first message, if it was asked for.
  void EnterLog(const LogPosition& log, std::optional<uint32_t> first_crc = std::nullopt);
  bool HasRowsThatWereCut() const;
  // Asks the tickerplant for the first message of its log: what a log is known by when its position
  // comes from the process before this one.
  void AskFirstMessage(std::function<void(std::optional<uint32_t> crc)> done);
  void IdentifyLog();
  void AskLogPath();

  // Replays up to `end_seq`, then calls `next`.
  void ReplayTo(uint64_t end_seq, Next next);
  void BeginReplay();
  void ReplayFile();
  void ReplayStream();
  void GiveUpReplay(const absl::Status& why);
  void FinishReplay();

  // Asks on the current connection; an answer that comes after that connection has gone is dropped.
  void Ask(const Value& request, std::function<void(absl::StatusOr<Value>)> done);
  void Later(Next next);
  void WarnOfLoss();
  void Restart(const absl::Status& why);  // Closes the connection; the client connects again.

  EventLoop& loop_;
  const SubscriberOptions options_;
  SubscribedState* const state_;
  std::shared_ptr<int> alive_ =
      std::make_shared<int>(0);  // Callbacks of a gone subscriber end here.

  uint64_t connection_number_ = 0;  // Which connection a callback belongs to.
  bool numbered_ = true;            // The tickerplant has `.u.subx`.
  std::optional<BatchTimes> ahead_of_;
  bool was_live_plain_ = false;  // What is here came from unnumbered upds: start over.
  LogLimit waiting_limit_{10 * kNsPerSecond};
  // A connection that was lost and of which nobody was warned yet.
  struct Lost {
    std::string tickerplant;
    std::string reason;
    int64_t since_ns;  // MonotonicNs.
  };
  std::optional<Lost> lost_;
  int rounds_ = 0;              // Replays before subscribing.
  bool schemas_known_ = false;  // The schemas of all tables were asked for on this connection.
  std::string log_path_;        // The log that the state stands in; empty: not known.
  bool log_known_ = false;      // Whether position and log_path_ belong together.
  bool reopened_ = false;       // They come from another process, and no log was entered since.
  bool identifying_ = false;
  std::vector<uint64_t> cuts_;  // `.u.cuts` of this connection.

  uint64_t replay_end_seq_ = 0;
  int64_t replay_begin_ns_ = 0;
  uint64_t replay_begin_seq_ = 0;
  Next after_replay_ = nullptr;
  std::unique_ptr<LogReplay> file_;  // The log's file, if it is known to be that of log_path_.
  bool file_rejected_ = false;       // It is not, or cannot be opened.
  std::unique_ptr<LogStream> stream_;
  std::unique_ptr<Client> client_;  // Last: its callbacks use the rest.
};

}  // namespace tickstack::wire
