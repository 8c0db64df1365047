#pragma once

// Coinbase: the feed of Coinbase Exchange, once Pro, and that of Advanced Trade
// (docs.cdp.coinbase.com).
//
// Exchange has {"type": ...}: snapshot and l2update for books, without numbers; match for trades,
// and last_match for the last one before; ticker. The `side` of a match is that of the maker.
//
// Advanced Trade has {"channel": ..., "sequence_num": n, "events": [...]}, in which each message of
// a connection has the next number: l2_data, market_trades, ticker. `side` is the maker's, too.

#include <map>
#include <string>

#include "feed/market/websocket/venue_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner.
class CoinbaseDecoder final : public VenueDecoder {
 public:
  explicit CoinbaseDecoder(MessageCounts& counts) : VenueDecoder(counts), counts_(counts) {}

  void Connect(std::string_view connection, int64_t recv_ns, EventSink& sink) override;

 private:
  VenueOutcome DecodeMessage(const VenueMessage& message) override;
  VenueOutcome DecodeExchange(const VenueMessage& message, std::string_view type);
  VenueOutcome DecodeAdvanced(const VenueMessage& message, std::string_view channel);

  std::string Book(const VenueMessage& message, EventHead& head, bool is_snapshot);
  std::string Match(JsonValue root, EventHead& head, EventSink& sink, bool is_last);
  std::string Ticker(JsonValue root, EventHead& head, EventSink& sink);

  std::string CheckNumber(const VenueMessage& message);
  std::string Levels(const VenueMessage& message, JsonValue event, EventHead& head);
  std::string MarketTrades(JsonValue event, EventHead& head, EventSink& sink);
  std::string Tickers(JsonValue event, EventHead& head, EventSink& sink);

  std::string SendBook(const VenueMessage& message, const EventHead& head, bool is_snapshot,
                       const JsonFields& fields);

  // The last message of a connection with numbers.
  struct Numbered {
    int64_t number, recv_ns;
  };
  MessageCounts& counts_;
  NameMap<Numbered> numbered_;  // By connection.
};

}  // namespace tickstack::feed::market
