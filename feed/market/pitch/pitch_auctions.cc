#include "feed/market/pitch/pitch_auctions.h"

#include <algorithm>
#include <cstdint>

namespace tickstack::feed::market {

// Shares to buy and to sell are those paired, and the rest of the larger side.
std::string_view DecodePitchAuctionUpdate(PitchMessage& message) {
  constexpr size_t kStateOffset = 47;
  const std::byte* const at = message.at;
  Auction auction{message.head, PitchCode(at + 14)};
  auction.sym = PaddedText(at + 6, kPitchLongSymbolBytes);
  if (!IsPrintable(auction.sym)) return "its symbol is not ASCII";
  const int64_t buy = PitchU32(at + 23), sell = PitchU32(at + 27);
  auction.paired = std::min(buy, sell);
  auction.imbalance = std::max(buy, sell) - auction.paired;
  if (buy != sell) auction.side = buy > sell ? 'B' : 'S';
  auction.ref_price = PitchLongPrice(at + 15);
  auction.indicative = PitchLongPrice(at + 31);
  auction.book_price = PitchLongPrice(at + 39);
  if (message.bytes > kStateOffset) {
    auction.state = PitchCode(at + kStateOffset);
    auction.low = PitchLongPrice(at + 48);
    auction.high = PitchLongPrice(at + 56);
  }
  message.sink.On(auction);
  return {};
}

std::string_view DecodePitchAuctionSummary(PitchMessage& message) {
  Auction auction{message.head, PitchCode(message.at + 14), "summary"};
  auction.sym = PaddedText(message.at + 6, kPitchLongSymbolBytes);
  if (!IsPrintable(auction.sym)) return "its symbol is not ASCII";
  auction.indicative = PitchLongPrice(message.at + 15);
  auction.paired = PitchU32(message.at + 23);
  message.sink.On(auction);
  return {};
}

}  // namespace tickstack::feed::market
