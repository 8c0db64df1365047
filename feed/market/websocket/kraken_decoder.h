#pragma once

// Kraken's spot market (docs.kraken.com), versions 1 and 2 of its websocket messages.
//
// Version 1 has arrays for data and objects for events:
//
//   [channel id, body, (body,) channel, pair]
//     book-N    {"as": rows, "bs": rows}: a snapshot; {"a": rows, "c": checksum}, {"b": ...}:
//               changes, also both, as two bodies. A row is [price, amount, seconds, ("r")]
//     trade     [[price, amount, seconds, side, kind of order, ...], ...]
//     ticker    {"a": [price, whole lots, amount], "b": ...}: without a time
//
// Version 2 has {"channel": ..., "type": snapshot or update, "data": [...]}, with numbers instead
// of texts, whose digits the checksum needs. The depth of a book is in the answer to its
// subscription.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "feed/market/websocket/kraken_book.h"
#include "feed/market/websocket/venue_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: that of the books.
class KrakenDecoder final : public VenueDecoder {
 public:
  explicit KrakenDecoder(MessageCounts& counts) : VenueDecoder(counts), counts_(counts) {}

  void Connect(std::string_view connection, int64_t recv_ns, EventSink& sink) override;

 private:
  static constexpr size_t kDepthMax = 1'000;

  // A message about a book.
  struct BookMessage {
    bool is_snapshot = false;
    size_t depth = 0;
    JsonValue checksum{};
  };

  VenueOutcome DecodeMessage(const VenueMessage& message) override;
  static VenueOutcome DecodeEvent(std::string_view event);
  VenueOutcome DecodeArray(const VenueMessage& message);
  VenueOutcome DecodeChannel(const VenueMessage& message, std::string_view channel);
  std::string Subscribed(const VenueMessage& message);

  std::string Book1(const VenueMessage& message, const EventHead& head);
  std::string Trades1(JsonValue rows, EventHead& head, EventSink& sink);
  std::string Ticker1(JsonValue body, const EventHead& head, EventSink& sink);
  void TakeRows1(JsonValue rows, char side, JsonFields& fields);

  std::string Book2(const VenueMessage& message, JsonValue data, EventHead& head, bool is_snapshot);
  std::string Trades2(JsonValue data, EventHead& head, EventSink& sink, bool is_snapshot);
  std::string Ticker2(JsonValue data, EventHead& head, EventSink& sink);
  void TakeRows2(JsonValue rows, char side, JsonFields& fields);
  size_t Depth2(const VenueMessage& message, std::string_view sym, JsonValue data) const;

  void TakeRow(char side, JsonValue price, JsonValue amount, int64_t time_ns, JsonFields& fields);
  std::string TakeBook(const VenueMessage& message, const EventHead& head, const BookMessage& book,
                       JsonFields& fields);
  void TakeSnapshot(BookStream& stream, const EventHead& head, const BookMessage& book,
                    int64_t checksum, EventSink& sink);
  void TakeChanges(BookStream& stream, const EventHead& head, const BookMessage& book,
                   int64_t checksum, EventSink& sink);
  bool Check(BookStream& stream, const BookMessage& book, int64_t checksum, int64_t recv_ns,
             EventSink& sink);

  MessageCounts& counts_;
  std::vector<KrakenBook::Change> changes_;  // Those of the message.
  std::map<const BookStream*, KrakenBook> by_stream_;
  std::map<std::pair<std::string, std::string>, size_t> depths_;  // By connection and symbol.
};

}  // namespace tickstack::feed::market
