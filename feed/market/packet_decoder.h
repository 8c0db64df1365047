#pragma once

// Packets of a protocol over UDP as events, wherever the packets come from: merges what several
// lines have, and tells gaps.
//
// A protocol derives its class, which frames packets and decodes messages.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "feed/market/arbiter.h"
#include "feed/market/dropped_messages.h"
#include "feed/market/event_reader.h"
#include "feed/market/packet_file.h"

namespace tickstack::feed::market {

// Threads: one owner.
class PacketDecoder : private ArbiterSink {
 public:
  // Why a packet or message does not fit.
  using Why = std::string_view;
  static constexpr std::string_view kOtherProtocol = "other";

  ~PacketDecoder() override = default;

  // Takes a datagram that a line delivered at `recv_ns`, and sends the events of all messages that
  // are now in order to `sink`. Returns why it does not fit, kOtherProtocol, or an empty text; it
  // is counted.
  Why TakeDatagram(const Datagram& datagram, size_t line, int64_t recv_ns, EventSink& sink);
  // Arbiter::Flush.
  void FlushHeld(EventSink& sink);

  // For a feed that is received live. Closes gaps that have waited long enough (Arbiter::OnTime).
  void OnTime(int64_t now_ns, EventSink& sink);
  // From now on, messages are decoded but give no events, or give them again. What was left out
  // becomes gaps, which are sent when `drops` is false again.
  void SetDrops(bool drops, int64_t now_ns, EventSink& sink);
  // Returns the packet that asks a server for missing messages; empty if the protocol has none.
  virtual std::string RequestFor(const MissingRange& /*missing*/) const { return {}; }
  // Arbiter's, which see.
  std::vector<StreamPosition> Positions() const { return arbiter_->Positions(); }
  void Continue(const StreamPosition& position) { arbiter_->Continue(position); }
  std::vector<MissingRange> Missing() const { return arbiter_->Missing(); }
  void MoveClock(int64_t ns) { arbiter_->MoveClock(ns); }
  int64_t deadline_ns() const { return arbiter_->deadline_ns(); }
  const std::vector<LineCounts>& lines() const { return arbiter_->lines(); }

 protected:
  explicit PacketDecoder(ArbiterSettings settings) : settings_(settings) { Restart(); }

  // Splits a payload into messages, and sets the fields of `packet` but line and recv_ns. Returns
  // why it does not fit, kOtherProtocol if it is not of this protocol, or an empty text. The views
  // are valid until the next call.
  virtual Why Frame(std::span<const std::byte> payload, const Datagram& datagram,
                    LinePacket& packet) = 0;
  // Decodes a message, and returns why it does not fit, or an empty text.
  virtual Why DecodeMessage(const MergedMessage& message, const EventHead& head, EventSink& sink,
                            MessageCounts& counts) = 0;
  // Forgets what earlier messages said.
  virtual void Reset() = 0;
  // Names the current packet in errors.
  virtual std::string Place() const = 0;
  // Returns how errors name the type of a message.
  virtual std::string TypeText(std::span<const std::byte> message) const {
    return fmt::format("{:#04x}", message.empty() ? 0 : static_cast<unsigned>(message[0]));
  }

  // Splits `bytes` into `count` messages, each after its length of two bytes.
  template <uint16_t (*Length)(const std::byte*)>
  Why SplitMessages(std::span<const std::byte> bytes, size_t count) {
    messages_.clear();
    for (size_t i = 0; i < count; ++i) {
      if (bytes.size() < sizeof(uint16_t)) return "it ends within the length of a message";
      const size_t length = Length(bytes.data());
      if (bytes.size() < sizeof(uint16_t) + length) return "it ends within a message";
      messages_.push_back(bytes.subspan(sizeof(uint16_t), length));
      bytes = bytes.subspan(sizeof(uint16_t) + length);
    }
    return {};
  }
  // Forgets all sessions and counts.
  void Restart();

  std::vector<std::span<const std::byte>> messages_;
  MessageCounts counts_;

 private:
  void OnMessage(const MergedMessage& message) override;
  void OnGap(const Gap& gap) override;
  void EndCall();

  const ArbiterSettings settings_;
  std::unique_ptr<Arbiter> arbiter_;
  EventSink* sink_ = nullptr;  // During a call.
  bool drops_ = false;         // Events are left out.
  DroppedMessages dropped_;
  NoEvents no_events_;
};

}  // namespace tickstack::feed::market
