#pragma once

// Binance, spot and futures (developers.binance.com): combined streams, which wrap each message as
// {"stream": ..., "data": {...}}, and single ones.
//
//   depthUpdate          U, u: first and last number of its updates. Spot: U is the last u + 1.
//                        Futures have numbers of all symbols; pu is the last u of this one
//   bookTicker           u, and the best b, B, a, A. The one of spot has no type and no time
//   trade, aggTrade      p, q, m: whether the buyer was the maker
//   {"lastUpdateId":}    the answer to a request of the book
//
// Times are ms: T by the matching engine, E of the message.

#include "feed/market/websocket/venue_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner.
class BinanceDecoder final : public VenueDecoder {
 public:
  using VenueDecoder::VenueDecoder;

  bool has_requests() const override { return true; }
  std::string_view SymbolOfRequest(std::string_view address) const override;

 private:
  VenueOutcome DecodeMessage(const VenueMessage& message) override;
  VenueOutcome DecodeAnswer(const VenueMessage& message) override;

  std::string Depth(JsonValue data, EventHead& head, const VenueMessage& message);
  std::string BookTicker(JsonValue data, EventHead& head, EventSink& sink);
  std::string Trades(JsonValue data, EventHead& head, EventSink& sink, bool is_aggregated);
  std::string Answer(const VenueMessage& message);
  void TakeSide(JsonValue rows, char side, JsonFields& fields);
};

}  // namespace tickstack::feed::market
