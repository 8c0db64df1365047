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

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "feed/market/event_reader.h"
#include "feed/market/events.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: 64 bytes for each instrument that the stream defines.
class Mdp3Decoder {
 public:
  static constexpr size_t kPacketHeadBytes = 12;
  static constexpr size_t kInstrumentsMax = size_t{1} << 22;

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
  void Reset() { symbols_.clear(); }

 private:
  // Entries of a group.
  struct Group {
    const std::byte* first = nullptr;
    size_t entry_bytes = 0;
    size_t count = 0;

    const std::byte* entry(size_t index) const { return first + index * entry_bytes; }
  };
  struct Message {
    const std::byte* root;
    Group group;                      // The first one, if the template has one.
    std::span<const std::byte> rest;  // What follows it.
    double price_units;
    EventHead head;
    EventSink& sink;
  };
  using DecodeFunction = std::string_view (Mdp3Decoder::*)(Message&);
  // A row of the table of messages: the bytes that the decoder reads of the root block, and of each
  // entry of the first group (0: it reads none).
  struct MessageType {
    uint8_t number;  // The template's.
    uint8_t root_bytes;
    uint8_t entry_bytes;
    DecodeFunction decode;
  };
  static const MessageType kTypes[];
  // The text of a symbol. An instrument that the stream has not defined has its number.
  struct Symbol {
    std::array<char, 20> text;
    uint8_t length = 0;
    std::string_view view() const { return {text.data(), length}; }
  };
  struct BookEntry;

  std::string_view DecodeMessage(std::span<const std::byte> bytes, const EventHead& head,
                                 EventSink& sink, MessageCounts& counts);
  std::string_view Start(std::span<const std::byte> bytes, const MessageType& type,
                         Message& message) const;
  static std::string_view TakeGroup(std::span<const std::byte>& rest, size_t head_bytes,
                                    size_t entry_bytes_min, Group& group);
  Symbol SymbolOf(int32_t security) const;
  static double Price(const Message& message, const std::byte* at);

  std::string_view ChannelReset(Message& message);
  std::string_view SecurityStatus(Message& message);
  template <bool kLong>
  std::string_view Book(Message& message);
  std::string_view BookOrders(Message& message, BookEntry (*read)(const std::byte*));
  void PutLevel(Message& message, const BookEntry& entry, const std::byte* at, bool complete);
  std::string_view OrderBook(Message& message);
  template <bool kLong>
  std::string_view TradeSummary(Message& message);
  std::string_view TradeOrders(Message& message, size_t security_offset, size_t orders_offset);
  std::string_view OldTrade(Message& message);
  std::string_view PutTrade(Message& message, Trade& trade, uint8_t aggressor, uint8_t action);
  template <bool kLong>
  std::string_view SessionStatistics(Message& message);
  std::string_view DailyStatistics(Message& message);
  template <bool kLong>
  std::string_view Volume(Message& message);
  std::string_view Limits(Message& message);
  void PutStatistic(Message& message, Statistic& statistic, int32_t security, std::byte action);
  std::string_view Definition(Message& message);
  std::string_view Define(const Instrument& instrument, char action);
  std::string_view WithoutRows(Message& message);

  absl::flat_hash_map<int32_t, Symbol> symbols_;  // By security id.
  uint16_t bad_template_ = 0;
  uint16_t template_ = 0;  // The current message's.
};

}  // namespace tickstack::feed::market
