#pragma once

// CME's Market Data Platform 3.0: one packet in, its events out. Messages are SBE (simple binary
// encoding), little-endian.
//
//   0 sequence number u32 | 4 sending time i64, ns since 1970 | 12 message | message ...
//
// A message:
//
//   0 size u16, of the whole message | 2 block length u16 | 4 template u16
//   6 schema u16 | 8 version u16 | 10 root block, of the block length | group | group ...
//
// A group is the length of an entry (u16), the number of entries (u8), and these. Groups of order
// numbers have five bytes between the two. Later versions have longer blocks and entries, and more
// groups, so every step is by the lengths in the message.
//
// Prices are integers with an exponent that the template determines: -7 up to template 44, -9 after
// that.
//
// What a message says is decoded in mdp3_books.h, mdp3_trades.h, mdp3_statistics.h and
// mdp3_instruments.h.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "feed/market/event_reader.h"
#include "feed/market/events.h"
#include "feed/market/mdp3/mdp3_message.h"
#include "feed/market/mdp3/mdp3_symbols.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: 64 bytes for each instrument that the stream defines.
class Mdp3Decoder {
 public:
  static constexpr size_t kPacketHeadBytes = 12;

  // Returns why the sizes of the messages in a packet do not fit, or an empty text.
  static std::string_view CheckSizes(std::span<const std::byte> packet);

  // Decodes the messages of a packet whose sizes fit. `head` has its sequence number, time of
  // receipt and channel. Counts each message by its template (255: that or more), and returns why
  // one does not fit, or an empty text.
  std::string_view DecodePacket(std::span<const std::byte> packet, const EventHead& head,
                                EventSink& sink, MessageCounts& counts);
  // Returns the template of the last message that did not fit.
  uint16_t bad_template() const { return bad_template_; }

  // Forgets the instruments.
  void Reset() { symbols_.Clear(); }

 private:
  using DecodeFunction = std::string_view (*)(Mdp3Message&);
  // A row of the table of messages: the bytes that the decoder reads of the root block, and of each
  // entry of the first group (0: it reads none).
  struct MessageType {
    uint8_t number;  // The template's.
    uint8_t root_bytes;
    uint8_t entry_bytes;
    DecodeFunction decode;
  };
  static const MessageType kTypes[];

  std::string_view DecodeMessage(std::span<const std::byte> bytes, const EventHead& head,
                                 EventSink& sink, MessageCounts& counts);
  static std::string_view Start(std::span<const std::byte> bytes, const MessageType& type,
                                Mdp3Message& message);

  Mdp3Symbols symbols_;
  uint16_t bad_template_ = 0;
  uint16_t template_ = 0;  // The current message's.
};

}  // namespace tickstack::feed::market
