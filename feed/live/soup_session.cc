#include "feed/live/soup_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "feed/market/arbiter.h"
#include "feed/market/big_endian.h"

namespace tickstack::feed::live {
namespace {

// A packet is handed on at this size. Messages are below 2^16 bytes, so it has less than twice as
// many, and fewer messages than kMoldEndOfSession.
constexpr size_t kMoldBytes = size_t{1} << 16;

}  // namespace

SoupSession::SoupSession(SoupLogin login, NextSeq next_seq, OnPacket on_packet, int64_t now_ns)
    : login_(std::move(login)),
      next_seq_of_(std::move(next_seq)),
      on_packet_(std::move(on_packet)),
      received_ns_(now_ns),
      sent_ns_(now_ns) {
  AppendSoupLogin(login_, to_send_);
}

void SoupSession::Break(std::string_view why) {
  state_ = SoupState::kBroken;
  why_ = fmt::format("packet {}, before byte {}: {}", packets_, reader_.offset(), why);
}

void SoupSession::Take(size_t bytes, int64_t now_ns) {
  reader_.Commit(bytes);
  received_ns_ = now_ns;
  while (!is_over()) {
    const std::optional<SoupPacket> packet = reader_.Next();
    if (!packet) break;
    ++packets_;
    TakePacket(*packet);
  }
  Flush();
}

void SoupSession::TakePacket(const SoupPacket& packet) {
  const bool logs_in = state_ == SoupState::kLoggingIn;
  const auto fits = [&](bool is_time, std::optional<size_t> bytes) {
    if (!is_time) {
      Break(fmt::format("type '{}' {} the login", packet.type, logs_in ? "before" : "after"));
    } else if (bytes && packet.payload.size() != *bytes) {
      Break(fmt::format("type '{}' with {} bytes, expected {}", packet.type, packet.payload.size(),
                        *bytes));
    }
    return state_ != SoupState::kBroken;
  };
  switch (packet.type) {
    case 'S':
      if (fits(!logs_in, std::nullopt)) TakeMessage(packet.payload);
      return;
    case 'H':
      fits(true, 0);
      return;
    case '+':
      return;
    case 'U':  // No message of ITCH is sent without a number.
      fits(!logs_in, std::nullopt);
      return;
    case 'A':
      if (fits(logs_in, kSoupSessionBytes + kSoupNumberBytes)) TakeLogin(AsText(packet.payload));
      return;
    case 'J':
      if (!fits(logs_in, 1)) return;
      reject_reason_ = market::CharAt(packet.payload.data());
      state_ = SoupState::kRejected;
      return;
    case 'Z':
      if (!fits(!logs_in, 0)) return;
      Flush();
      mold_.Begin(session_, next_seq_);
      mold_.SetCount(market::kMoldEndOfSession);
      Flush();
      state_ = SoupState::kEnded;
      return;
    case 0:
      return Break("no type");
    default:
      return Break(fmt::format("unknown type {:#04x}", static_cast<unsigned char>(packet.type)));
  }
}

void SoupSession::TakeLogin(std::string_view payload) {
  const std::string_view name = TrimSpaces(payload.substr(0, kSoupSessionBytes));
  const std::string_view number = payload.substr(kSoupSessionBytes);
  const std::optional<uint64_t> first = ParseSoupNumber(number);
  if (name.empty() || !market::IsPrintable(name)) {
    return Break(fmt::format("a login into session '{}'", Printable(name)));
  }
  if (!first || *first == 0 || *first > market::Arbiter::kSeqMax) {
    return Break(fmt::format("a login at message '{}'", Printable(number)));
  }
  session_ = name;
  next_seq_ = *first;
  const std::optional<uint64_t> known = next_seq_of_(session_);
  const bool is_current = login_.session.empty() && known.value_or(1) <= login_.next_seq;
  if (!is_current && session_ != login_.session) {
    state_ = SoupState::kOtherSession;
    return;
  }
  state_ = SoupState::kStreaming;
  if (!known) SendHeartbeat(1);
  if (*first > 1) SendHeartbeat(*first);
}

void SoupSession::SendHeartbeat(uint64_t next_seq) {
  mold_.Begin(session_, next_seq);
  on_packet_(mold_.bytes());
  mold_.Begin(session_, next_seq);
}

void SoupSession::TakeMessage(std::span<const std::byte> message) {
  const uint64_t seq = next_seq_++;
  ++messages_;
  if (seq == 1 && next_seq_of_(session_).value_or(1) > 1) return;
  if (mold_.messages() == 0) mold_.Begin(session_, seq);
  mold_.Add(message);
  if (mold_.bytes().size() >= kMoldBytes) Flush();
}

void SoupSession::Flush() {
  if (mold_.messages() == 0) return;
  on_packet_(mold_.bytes());
  mold_.Begin(session_, next_seq_);
}

void SoupSession::OnTime(int64_t now_ns) {
  // What is still to be sent says as much as a heartbeat.
  if (!is_streaming() || now_ns - sent_ns_ < kHeartbeatNs) return;
  if (to_send_.empty()) AppendSoupPacket('R', {}, to_send_);
  sent_ns_ = now_ns;
}

void SoupSession::Logout() {
  if (is_streaming() && to_send_.empty()) AppendSoupPacket('O', {}, to_send_);
}

int64_t SoupSession::deadline_ns() const {
  const int64_t silent_ns = received_ns_ + kSilentNs;
  return is_streaming() ? std::min(silent_ns, sent_ns_ + kHeartbeatNs) : silent_ns;
}

}  // namespace tickstack::feed::live
