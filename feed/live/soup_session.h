#pragma once

// A client's side of one connection to a SoupBinTCP server: logs in, counts messages, and makes
// MoldUDP64 packets of them, so that a decoder sees one more line. It has no socket and no clock.
//
//   logging in --A--> streaming --Z--> ended
//       |  |'---A of another session, or of one of which more is known---> other session
//       |  '----J---> rejected
//       '----------------'-- what does not fit --> broken
//
// A heartbeat of MoldUDP64 says with which number the server continues. So if that is not the
// wanted one, the arbiter knows what is missing. A session that the arbiter does not know begins
// with number 1.
//
// A packet of number 1 tells the arbiter that a session starts over, which those of SoupBinTCP
// never do. So number 1 is left out if the arbiter has more of the session.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "feed/live/soup_packets.h"
#include "feed/market/itch/mold_packet.h"

namespace tickstack::feed::live {

enum class SoupState {
  kLoggingIn,
  kStreaming,
  kOtherSession,  // A login that names the server's session continues it at the right message.
  kRejected,
  kEnded,
  kBroken,
};

// Threads: one owner. Memory: 200 KiB.
class SoupSession {
 public:
  static constexpr int64_t kHeartbeatNs = kNsPerSecond;    // Longest time without a packet to it.
  static constexpr int64_t kSilentNs = 15 * kNsPerSecond;  // Longest time without one from it.

  // Returns the number of the next message of a session; nullopt if nothing of it is known.
  using NextSeq = std::function<std::optional<uint64_t>(std::string_view session)>;
  // Takes the payload of a MoldUDP64 packet, which is valid during the call.
  using OnPacket = std::function<void(std::span<const std::byte> payload)>;

  // The connection is there: the login is in to_send(). Times are of any monotonic clock.
  SoupSession(SoupLogin login, NextSeq next_seq, OnPacket on_packet, int64_t now_ns);

  // Returns where to put received bytes; not empty until the session is over.
  std::span<std::byte> Room() { return reader_.Room(); }
  // Takes the first `bytes` of Room. Once the session is over, the rest is ignored.
  void Take(size_t bytes, int64_t now_ns);
  // Sends a heartbeat if it is time.
  void OnTime(int64_t now_ns);
  // Ends the session from this side.
  void Logout();
  // The connection was not read until now.
  void OnResumed(int64_t now_ns) { received_ns_ = now_ns; }

  // Bytes to send; the caller removes those that it has sent.
  std::string& to_send() { return to_send_; }
  SoupState state() const { return state_; }
  bool is_over() const { return state_ != SoupState::kLoggingIn && !is_streaming(); }
  bool is_streaming() const { return state_ == SoupState::kStreaming; }
  bool is_silent(int64_t now_ns) const { return now_ns - received_ns_ >= kSilentNs; }
  // Returns when OnTime or is_silent has something to say.
  int64_t deadline_ns() const;

  const SoupLogin& login() const { return login_; }
  const std::string& session() const { return session_; }  // The server's; empty before its login.
  uint64_t next_seq() const { return next_seq_; }          // Number of the next message.
  char reject_reason() const { return reject_reason_; }
  const std::string& why() const { return why_; }  // What is broken, and where.
  int64_t packets() const { return packets_; }
  int64_t messages() const { return messages_; }  // With a number.

 private:
  void TakePacket(const SoupPacket& packet);
  void TakeLogin(std::string_view payload);
  void TakeMessage(std::span<const std::byte> message);
  void SendHeartbeat(uint64_t next_seq);
  void Flush();
  void Break(std::string_view why);

  const SoupLogin login_;
  const NextSeq next_seq_of_;
  const OnPacket on_packet_;
  SoupState state_ = SoupState::kLoggingIn;
  SoupPacketReader reader_;
  market::MoldPacket mold_;  // Messages that are not handed on yet.
  std::string to_send_;
  std::string session_;
  uint64_t next_seq_ = 0;
  char reject_reason_ = 0;
  std::string why_;
  int64_t packets_ = 0;
  int64_t messages_ = 0;
  int64_t received_ns_;
  int64_t sent_ns_;
};

}  // namespace tickstack::feed::live
