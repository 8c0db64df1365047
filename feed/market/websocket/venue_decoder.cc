#include "feed/market/websocket/venue_decoder.h"

#include "base/status.h"
#include "feed/market/websocket/binance_decoder.h"
#include "feed/market/websocket/bitstamp_decoder.h"
#include "feed/market/websocket/coinbase_decoder.h"
#include "feed/market/websocket/deribit_decoder.h"
#include "feed/market/websocket/kraken_decoder.h"
#include "feed/market/websocket/okx_decoder.h"

namespace tickstack::feed::market {
namespace {

template <typename Decoder>
std::unique_ptr<VenueDecoder> MakeDecoder(MessageCounts& counts) {
  return std::make_unique<Decoder>(counts);
}

struct Venue {
  std::string_view name;
  std::unique_ptr<VenueDecoder> (*make)(MessageCounts& counts);
};

constexpr Venue kVenues[] = {
    {"binance", MakeDecoder<BinanceDecoder>},   {"binance-futures", MakeDecoder<BinanceDecoder>},
    {"bitstamp", MakeDecoder<BitstampDecoder>}, {"coinbase", MakeDecoder<CoinbaseDecoder>},
    {"deribit", MakeDecoder<DeribitDecoder>},   {"kraken", MakeDecoder<KrakenDecoder>},
    {"okx", MakeDecoder<OkxDecoder>},
};

}  // namespace

void VenueDecoder::SendQuote(const EventHead& head, JsonValue bid, JsonValue bid_amount,
                             JsonValue ask, JsonValue ask_amount, JsonFields& fields,
                             EventSink& sink) {
  Quote quote{head};
  quote.bid = fields.OptionalDecimal(bid);
  quote.bamount = fields.OptionalAmount(bid_amount);
  quote.ask = fields.OptionalDecimal(ask);
  quote.aamount = fields.OptionalAmount(ask_amount);
  if (quote.bid == 0) quote.bid = kNullPrice;
  if (quote.ask == 0) quote.ask = kNullPrice;
  if (fields.fit()) sink.On(quote);
}

std::string VenueDecoder::SendTrades(const std::vector<Trade>& trades, const JsonFields& fields,
                                     EventSink& sink) {
  if (!fields.fit()) return fields.why();
  for (const Trade& trade : trades) sink.On(trade);
  return {};
}

std::string_view AddressPart(std::string_view address, std::string_view before) {
  const size_t at = address.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = address.substr(at + before.size());
  return rest.substr(0, rest.find_first_of("&?/"));
}

absl::StatusOr<std::unique_ptr<VenueDecoder>> MakeVenueDecoder(std::string_view venue,
                                                               MessageCounts& counts) {
  std::string names;
  for (const Venue& known : kVenues) {
    if (known.name == venue) return known.make(counts);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return InvalidArgument("venue: expected one of {}, found \"{}\"", names, venue);
}

}  // namespace tickstack::feed::market
