#pragma once

// Bitstamp (www.bitstamp.net/websocket/v2): {"event": ..., "channel": ..., "data": {...}}.
//
//   data, diff_order_book_X     changes of the book; begins with the answer to a request for
//                               /order_book/X, which has the book at its microtimestamp
//   trade, live_trades_X        type 0: the aggressor bought, 1: sold
//
// Messages have a time in us, but no numbers, so a missing one shows nowhere.

#include "feed/market/websocket/venue_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner.
class BitstampDecoder final : public VenueDecoder {
 public:
  using VenueDecoder::VenueDecoder;

  bool has_requests() const override { return true; }
  std::string_view SymbolOfRequest(std::string_view address) const override;

 private:
  VenueOutcome DecodeMessage(const VenueMessage& message) override;
  VenueOutcome DecodeAnswer(const VenueMessage& message) override;

  std::string Changes(const VenueMessage& message, EventHead& head);
  std::string TradeOf(JsonValue data, EventHead& head, EventSink& sink);
  std::string Snapshot(const VenueMessage& message, std::string_view sym);
  int64_t TakeBook(JsonValue data, EventHead& head, JsonFields& fields);
  void TakeSide(JsonValue rows, char side, JsonFields& fields);
};

}  // namespace tickstack::feed::market
