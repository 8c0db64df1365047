#pragma once

// Keeps a state subscribed to a tickerplant. The state gets every row once, across lost connections
// and restarts of either side.
//
//   connect -> of a cluster: `.u.replica[]` (leader_epoch.h); `.u.L`, `.u.cuts`, `.u `i`L`
//           -> while the log is far ahead: replay up to i, ask again
//           -> `.u.subx[`;`]`: log message i and all later ones will be published
//           -> stop reading the connection, replay the rest up to i, read again: live
//
// The long replay comes before subscribing, so that the tickerplant does not have to serve rows to
// a subscriber that replays the morning. Rows that are published during the short replay wait in
// the connection; if they are many, the tickerplant sends them from its log later.
//
// The log is read from its file if that can be opened and begins with the same message as the
// tickerplant's log. Otherwise `.u.log` streams it over a second connection, because the first one
// is not read during a replay.
//
// A tickerplant without `.u.subx` is plain kdb+tick. The subscriber sends the request of kdb+tick's
// own RDB, and replays the log file up to the position in the answer. Upds of kdb+tick have no
// numbers, so after a lost connection the state is emptied and filled again.
//
// A restored state is kept only if the log's path and first message match; otherwise it is rebuilt.
// It is also rebuilt if it has rows that a power cut removed from the tickerplant's log
// (`.u.cuts`).
//
// A state that follows the content (SubscribedState::FollowsContent) is kept also when the log is
// at another path, as that of another member of a cluster is, if the day, the first message, and a
// later one that the state knows match. Each member has power cuts of its own, and gets the rows
// that they took from the others. So there, a cut before the known message counts for nothing.
//
// Threads: everything on the loop's thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/logging.h"
#include "base/time.h"
#include "table/shard_id.h"
#include "tplog/leader_epoch.h"
#include "tplog/log_replay.h"
#include "tplog/subscribed_state.h"
#include "tplog/subscription_answer.h"
#include "wire/client.h"
#include "wire/event_loop.h"

namespace tickstack::tplog {

struct SubscriberOptions {
  wire::Address tickerplant;
  wire::ClientOptions client;
  bool read_log_file = true;  // Off: the log is always streamed.
  // The tables to subscribe to; empty: all. The state gets the schemas of all tables either way. A
  // replay delivers every message, and a plain kdb+tick publishes all tables.
  std::vector<std::string> tables;
  // The shard of which this process is. A tickerplant of another shard or map is not subscribed to.
  // Without one, any tickerplant is; so is one that does not know `.u.shard`.
  ShardId shard = {};
  // Requests rows as soon as they are logged instead of with the next batch. Plain kdb+tick ignores
  // it.
  bool ahead = false;
};

class Subscriber : public wire::ClientHandler {
 public:
  // Starts connecting from the loop. `state` must outlive the subscriber.
  Subscriber(wire::EventLoop& loop, const SubscriberOptions& options, SubscribedState* state);
  ~Subscriber() override;

  // Returns when the tickerplant publishes to subscribers without `ahead`; nullopt unless it
  // accepted `ahead` in the last subscription.
  const std::optional<BatchTimes>& ahead_of() const { return ahead_of_; }
  bool is_numbered() const { return numbered_; }  // True if the tickerplant has `.u.subx`.
  wire::Connection* connection() const { return client_->connection(); }  // nullptr: there is none.

  void OnConnected(wire::Connection& connection) override;
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  void OnDrained(wire::Connection& connection) override;
  void OnClosed(wire::Connection& connection, const absl::Status& why) override;
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override;

 private:
  class LogStream;
  using Next = void (Subscriber::*)();

  void AskEpoch();
  void AskVersion();
  void AskShard();
  void AskCuts();
  void AskPosition();
  void CheckLogFile(uint64_t seq);
  void CatchUpOrSubscribe(uint64_t seq);
  void AskSchemas(uint64_t seq);
  void TellSchemas(std::span<const Schema> schemas);
  void Subscribe();
  void SubscribeNumbered(bool ahead);
  void SubscribePlain();
  void WaitForRoom();
  bool is_live() const { return state_->subscription().live.load(std::memory_order_relaxed) != 0; }
  void OnSubscribed(const SubscriptionAnswer& answer);
  void GoLive();
  // Makes sure that the state follows this log; empties it if it follows another. `first_crc` is
  // the CRC of the log's first message, if it is known.
  void EnterLog(const LogPosition& log, std::optional<uint32_t> first_crc = std::nullopt);
  bool HasRowsThatWereCut() const;
  // Asks the tickerplant for a message of this log; `done` gets its CRC, or nullopt if there is
  // none.
  void AskMessage(uint64_t seq, const std::string& log,
                  std::function<void(std::optional<uint32_t> crc)> done);
  // Compares the message that the state knows, and enters the log.
  void AskKnownMessage(const LogPosition& log, std::optional<uint32_t> first_crc);
  // True if the state's log is one of a cluster's, which it recognises by its content.
  bool IsOfCluster() const { return state_->FollowsContent() && leader_.has_standbys(); }
  void IdentifyLog();
  void AskLogPath();

  // Replays up to `end_seq`, then calls `next`.
  void ReplayTo(uint64_t end_seq, Next next);
  void BeginReplay();
  void ReplayFile();
  void ReplayStream();
  void GiveUpReplay(const absl::Status& why);
  void FinishReplay();

  // Asks on the current connection. An answer is dropped if that connection has ended meanwhile.
  void Ask(const Value& request, std::function<void(absl::StatusOr<Value>)> done);
  void Later(Next next);
  void WarnOfLoss();
  void Restart(const absl::Status& why);  // Closes the connection; the client connects again.

  wire::EventLoop& loop_;
  const SubscriberOptions options_;
  SubscribedState* const state_;
  // Expires with this object, so that later callbacks do nothing.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);

  uint64_t connection_number_ = 0;  // Identifies the connection of a callback.
  bool numbered_ = true;            // True if the tickerplant has `.u.subx`.
  std::optional<BatchTimes> ahead_of_;
  // True if the rows came from unnumbered upds, so the state must be filled again.
  bool was_live_plain_ = false;
  LogLimit waiting_limit_{10 * kNsPerSecond};
  // A lost connection that has not been logged yet.
  struct Lost {
    std::string tickerplant;
    std::string reason;
    int64_t since_ns;  // MonotonicNs.
  };
  std::optional<Lost> lost_;
  LeaderEpoch leader_;
  int rounds_ = 0;              // Number of replays before subscribing.
  bool schemas_known_ = false;  // True if this connection was asked for the schemas of all tables.
  std::string log_path_;        // The log that the state follows; empty: not known.
  bool log_known_ = false;      // True if position and log_path_ belong together.
  bool reopened_ = false;  // True if position and log_path_ were restored, and not replaced since.
  bool identifying_ = false;
  // Messages of the log that were seen on this connection to be those of the state.
  uint64_t proven_ = 0;
  std::vector<uint64_t> cuts_;           // The tickerplant's `.u.cuts`.
  std::optional<std::string> cuts_log_;  // The path of the log that they are of.

  uint64_t replay_end_seq_ = 0;
  int64_t replay_begin_ns_ = 0;
  uint64_t replay_begin_seq_ = 0;
  Next after_replay_ = nullptr;
  std::unique_ptr<LogReplay> file_;  // The log's file, if it is known to be that of log_path_.
  bool file_rejected_ = false;       // True if the file is another log, or cannot be opened.
  std::unique_ptr<LogStream> stream_;
  wire::Timer room_;                      // Asks a state without room again.
  std::unique_ptr<wire::Client> client_;  // Last: its callbacks use the rest.
};

}  // namespace tickstack::tplog
