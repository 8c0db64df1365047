#pragma once

// A line of messages that a SoupBinTCP server sends over TCP (soup_session.h). Connects, continues
// after the arbiter's last message, and does so again whenever the connection ends.
//
// The pause before a connection doubles up to the longest one, and starts over when a connection
// has brought messages. The session to continue is the last one; if the server has it no longer, or
// has ended it, the current one, from its first message. If that is still the one that has ended,
// it is asked whether more follows.

#include <netinet/in.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/logging.h"
#include "base/owned_fd.h"
#include "base/time.h"
#include "feed/live/line_receiver.h"
#include "feed/live/soup_session.h"
#include "feed/market/arbiter.h"

namespace tickstack::feed::live {

inline constexpr std::string_view kSoupPrefix = "soup:";

struct SoupServer {
  in_addr address{};  // IPv4.
  uint16_t port = 0;
  std::string ToString() const;  // Such as `soup:10.1.1.1:5000`.
};

// Parses a line such as `soup:10.1.1.1:5000`. kInvalidArgument with the text for others.
absl::StatusOr<SoupServer> ParseSoupServer(std::string_view text);

struct SoupOptions {
  std::string user, password;
  std::string session;  // Empty: the server's current one.
  // Pauses before connections: the first, and the longest.
  int64_t pause_ns_min = kNsPerSecond / 10;
  int64_t pause_ns_max = 5 * kNsPerSecond;
};

// Returns kInvalidArgument for what a login has no room for.
absl::Status CheckSoupOptions(const SoupOptions& options);

// Threads: one owner. Memory: 500 KiB.
class SoupReceiver final : public LineReceiver {
 public:
  // Returns how far the arbiter is in each session.
  using Positions = std::function<std::vector<market::StreamPosition>()>;

  // Opens no connection.
  static absl::StatusOr<std::unique_ptr<SoupReceiver>> Create(SoupServer server,
                                                              SoupOptions options,
                                                              Positions positions);
  ~SoupReceiver() override { Leave(); }

  absl::Status Join() override;
  // Logs out.
  void Leave() override;
  int fd() const override { return epoll_.get(); }
  // Reads up to SoupPacketReader::kBufferBytes.
  bool Receive(const OnDatagram& on_datagram) override;
  // kPermissionDenied once the server has refused user or password.
  absl::Status status() const override { return error_; }
  void SetPaused(bool paused) override;
  size_t lines() const override { return 1; }
  std::string LineName(size_t /*line*/) const override { return server_.ToString(); }
  const LineTraffic& traffic(size_t /*line*/) const override { return traffic_; }

 private:
  enum class State { kIdle, kWaiting, kConnecting, kConnected };

  SoupReceiver(SoupServer server, SoupOptions options, Positions positions);
  std::optional<uint64_t> NextSeqOf(std::string_view session) const;
  std::string NewestSession() const;
  void Connect(int64_t now_ns);
  void OnConnected(int64_t now_ns);
  bool Read(int64_t now_ns);
  // Acts on what the session has become.
  void AfterRead(int64_t now_ns, bool was_streaming);
  void OnRejected(int64_t now_ns);
  void Write(int64_t now_ns);
  void Lose(std::string_view why, int64_t now_ns);
  void CheckConnecting(int64_t now_ns);
  void ConnectAfter(int64_t pause_ns, int64_t now_ns);
  void ConnectAgain(int64_t now_ns);
  void Close();
  void SetEvents(uint32_t events);
  void SetTimer(int64_t at_ns);
  int64_t DeadlineNs() const;

  const SoupServer server_;
  const SoupOptions options_;
  const Positions positions_;
  OwnedFd epoll_, timer_;

  State state_ = State::kIdle;
  OwnedFd socket_;
  uint32_t events_ = 0;   // What the epoll watches the socket for.
  int64_t state_ns_ = 0;  // When connecting began, or when waiting ends.
  int64_t timer_ns_ = 0;  // When the timer fires; 0: never.
  int64_t pause_ns_;
  std::optional<SoupSession> session_;  // While connected.
  std::string continued_;               // The session to log in to; empty: the current one.
  std::string ended_;                   // The session that ended last.
  bool paused_ = false;
  absl::Status error_;
  LineTraffic traffic_;
  const OnDatagram* on_datagram_ = nullptr;  // During Receive.
  LogLimit connect_limit_{60 * kNsPerSecond};
  LogLimit lost_limit_, accepted_limit_, login_limit_, bad_limit_;
};

}  // namespace tickstack::feed::live
