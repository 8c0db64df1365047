#pragma once

// OKX, spot and derivatives (www.okx.com/docs-v5): {"arg": {"channel": ..., "instId": ...}, "data":
// [...]}.
//
//   books, books50-l2-tbt, books-l2-tbt   "action": snapshot, or update with the seqId before it as
//                                         prevSeqId. Rows are [price, size, "0", orders]
//   books5                                the best prices each time: all are snapshots
//   bbo-tbt, tickers                      the best bid and ask
//   trades, trades-all                    `side` is the aggressor's
//
// While a book does not change, an update without rows has its own seqId as prevSeqId. After
// maintenance, seqId may be smaller than prevSeqId. The checksum is not compared: seqId says more,
// and the exchange is about to leave the checksum out.
//
// Sizes of derivatives are in contracts. Times are ms.

#include "feed/market/websocket/venue_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner.
class OkxDecoder final : public VenueDecoder {
 public:
  using VenueDecoder::VenueDecoder;

 private:
  VenueOutcome DecodeMessage(const VenueMessage& message) override;
  std::string Book(const VenueMessage& message, JsonValue data, EventHead& head);
  void Update(BookStream& stream, const EventHead& head, int64_t previous, EventSink& sink);
  static std::string Trades(JsonValue data, EventHead& head, EventSink& sink);
  static std::string BestPrices(JsonValue row, EventHead& head, EventSink& sink);
  void TakeSide(JsonValue rows, char side, JsonFields& fields);
};

}  // namespace tickstack::feed::market
