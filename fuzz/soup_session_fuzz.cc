// Feeds any bytes to a client's session of SoupBinTCP. The first byte sets the known position in
// the session DAY1, and the size of the pieces in which the others arrive. It must not crash, the
// pieces must not matter, and the packets that are handed on must be whole, with numbers that
// continue.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/check.h"
#include "base/time.h"
#include "feed/live/soup_session.h"
#include "feed/market/big_endian.h"
#include "feed/market/event_testing.h"
#include "feed/market/itch/itch_capture.h"

namespace tickstack::feed::live {
namespace {

struct SessionResult {
  std::string handed_on;
  std::string why;
  SoupState state = SoupState::kLoggingIn;
  std::string session;
  uint64_t next_seq = 0;
  int64_t packets = 0;
  bool operator==(const SessionResult&) const = default;
};

// Each packet that is handed on, without its head, and the decoder that takes them.
class Receiver {
 public:
  explicit Receiver(uint64_t known) : known_(known) {
    if (known == 0) return;
    market::StreamPosition position;
    position.channel = position.session = "DAY1";
    position.next_seq = known;
    position.first_recv_ns = 0;
    decoder_->Continue(position);
  }

  SessionResult Run(std::span<const std::byte> bytes, size_t piece) {
    SoupLogin login;
    if (known_ != 0) login = {.user = {}, .password = {}, .session = "DAY1", .next_seq = known_};
    SoupSession session(
        login, [this](std::string_view name) { return NextSeq(name); },
        [this](std::span<const std::byte> payload) { Take(payload); }, 0);
    while (!bytes.empty() && !session.is_over()) {
      const std::span<std::byte> room = session.Room();
      TS_CHECK(!room.empty());
      const std::span<const std::byte> part =
          bytes.first(std::min({piece, bytes.size(), room.size()}));
      std::ranges::copy(part, room.begin());
      session.Take(part.size(), 0);
      bytes = bytes.subspan(part.size());
    }
    session.OnTime(kNsPerSecond);
    session.Logout();
    result_.why = session.why();
    result_.state = session.state();
    result_.session = session.session();
    result_.next_seq = session.next_seq();
    result_.packets = session.packets();
    return result_;
  }

 private:
  std::optional<uint64_t> NextSeq(std::string_view name) {
    for (const market::StreamPosition& position : decoder_->Positions()) {
      if (position.session == name) return position.next_seq;
    }
    return std::nullopt;
  }

  void Take(std::span<const std::byte> payload) {
    const uint64_t seq = market::BigU64(payload.data() + market::kMoldSessionBytes);
    const uint16_t count = market::BigU16(payload.data() + market::kMoldHeadBytes - 2);
    const std::span<const std::byte> messages = payload.subspan(market::kMoldHeadBytes);
    if (count != 0 && count != market::kMoldEndOfSession) {
      TS_CHECK(next_seq_ == 0 || seq == next_seq_);
      next_seq_ = seq + count;
    }
    result_.handed_on += AsText(messages);
    market::Datagram datagram;
    datagram.payload = payload;
    datagram.address = kAddress;
    const std::string_view why = decoder_->TakeDatagram(datagram, 0, 0, events_);
    TS_CHECK(why.empty() || seq + count >= market::Arbiter::kSeqMax);
    if (events_.texts.size() > 1'000) events_.texts.clear();
  }

  static constexpr std::byte kAddress[4] = {};
  const uint64_t known_;
  const std::unique_ptr<market::PacketReader> decoder_ = market::ItchCapture::Live(
      0, market::ExchangeDays::Create("UTC").value(), market::ArbiterSettings());
  market::EventTexts events_;
  SessionResult result_;
  uint64_t next_seq_ = 0;
};

void Run(std::span<const std::byte> data) {
  if (data.empty()) return;
  const auto choice = static_cast<uint8_t>(data[0]);
  const uint64_t known = choice % 4 == 3 ? 0 : choice % 4 * 2;
  const std::span<const std::byte> bytes = data.subspan(1);
  const SessionResult whole = Receiver(known).Run(bytes, bytes.size() + 1);
  TS_CHECK(Receiver(known).Run(bytes, size_t{1} + choice / 4) == whole);
}

}  // namespace
}  // namespace tickstack::feed::live

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::feed::live::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
