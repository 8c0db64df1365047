#pragma once

// Deribit (docs.deribit.com): JSON-RPC notifications {"method": "subscription", "params":
// {"channel": ..., "data": ...}}.
//
//   book.X.raw, book.X.100ms      snapshot, or change with the change_id before it. Rows are
//                                 [new, change or delete, price, amount]
//   book.X.none.10.100ms          the best prices each time, as [price, amount]: all are snapshots
//   trades.X.raw                  `direction` is the aggressor's
//   quote.X, ticker.X.raw         the best bid and ask
//
// Amounts are in the units of the instrument, such as dollars for BTC-PERPETUAL.

#include "feed/market/websocket/venue_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner.
class DeribitDecoder final : public VenueDecoder {
 public:
  using VenueDecoder::VenueDecoder;

 private:
  VenueOutcome DecodeMessage(const VenueMessage& message) override;
  std::string Book(const VenueMessage& message, JsonValue data, EventHead& head);
  std::string Trades(JsonValue data, EventHead& head, EventSink& sink);
  std::string BestPrices(JsonValue data, EventHead& head, EventSink& sink);
  void TakeSide(JsonValue rows, char side, JsonFields& fields);
};

}  // namespace tickstack::feed::market
