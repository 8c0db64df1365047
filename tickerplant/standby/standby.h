#pragma once

// A standby's link to the leader: connects, tells where its log ends, appends the blocks that it is
// sent, and acknowledges them. Each read of the connection is acknowledged once.
//
// If the connection ends, it connects again. If the leader refuses this standby, or sends something
// wrong, it asks again after kRefusedPause, because the leader reads its index for each request.
// `refusal()` says why it does not follow.
//
// Threads: the loop's.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tickerplant/standby/replication_messages.h"
#include "tickerplant/standby/standby_log.h"
#include "wire/client.h"
#include "wire/event_loop.h"

namespace tickstack::tickerplant {

class Standby final : public wire::ClientHandler {
 public:
  static constexpr std::chrono::seconds kRefusedPause{2};
  // A leader that says nothing for this long is disconnected: the connection may be dead without
  // an error. It sends something every Standbys::kAliveNs once this standby has joined. Until then
  // it may be reading a long index.
  static constexpr int64_t kSilentNsMax = 1'000'000'000;
  static constexpr int64_t kSilentBeforeNsMax = 10'000'000'000;

  // `on_failed` is called when the log has an error that does not pass, after which this follows
  // nobody. `log` must outlive this.
  Standby(wire::EventLoop& loop, std::string name, StandbyLog* log,
          std::function<void(absl::Status)> on_failed);
  ~Standby() override;

  // Follows the leader at `address`, whose number is `epoch`. Does nothing if it does so already.
  // The number may be less than the last one, if the store has lost its entry.
  void Follow(const wire::Address& address, uint64_t epoch);
  // Follows nobody from now on: nothing more is appended or acknowledged.
  void Stop();

  bool is_connected() const { return connection_ != nullptr; }
  bool follows() const { return following_; }  // The leader has told it where to begin.
  uint64_t epoch() const { return epoch_; }
  const std::string& refusal() const { return refusal_; }
  uint64_t blocks() const { return blocks_; }

  void OnConnected(wire::Connection& connection) override;
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override;
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  void OnDrained(wire::Connection& connection) override;
  void OnClosed(wire::Connection& connection, const absl::Status& why) override;

 private:
  void JoinAfterPause();
  void Join();
  absl::Status Begin(const Value& answer);
  absl::Status Take(const Value& message);
  void Acknowledge();
  void CheckSilence();
  std::optional<int64_t> ClockNs() const;
  void Refuse(const absl::Status& why);
  void OnError(const absl::Status& why);

  wire::EventLoop& loop_;
  const std::string name_;
  StandbyLog* const log_;
  const std::function<void(absl::Status)> on_failed_;
  wire::Timer pause_;
  wire::Timer silence_timer_;
  int64_t heard_ns_ = 0;         // MonotonicNs of the last bytes that came, or of the connection.
  uint64_t received_bytes_ = 0;  // Those of the connection, when it was checked.
  // Expires with this object, so that later callbacks do nothing.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  wire::Address address_;
  uint64_t epoch_ = 0;
  int64_t join_ns_ = 0;  // MonotonicNs before which it does not ask the leader again.
  uint64_t turn_ = 0;    // Identifies a connection in callbacks.
  wire::Connection* connection_ = nullptr;
  bool following_ = false;
  bool stopped_ = false;
  // What a leader of its version lets a standby say: an earlier one refuses arguments that it does
  // not know.
  enum class Says : uint8_t { kPlace, kClock, kTables };
  Says says_ = Says::kTables;
  ReplicaPlace acknowledged_;
  std::string refusal_ = "there is no leader yet";
  uint64_t blocks_ = 0;
  std::unique_ptr<wire::Client> client_;  // Last: its callbacks use the rest.
};

}  // namespace tickstack::tickerplant
