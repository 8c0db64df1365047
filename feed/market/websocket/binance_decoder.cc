#include "feed/market/websocket/binance_decoder.h"

namespace tickstack::feed::market {
namespace {

constexpr int64_t kBinanceUnitNs = 1'000'000;

// Returns the time of the event; kNullLong if it has none.
int64_t BinanceTime(JsonValue data, JsonFields& fields) {
  for (const std::string_view key : {"T", "E"}) {
    if (const JsonValue time = data[key]; time.exists()) {
      return fields.UnitsNs(time, kBinanceUnitNs);
    }
  }
  return kNullLong;
}

// Returns the type of a message: its own, or the stream's, as in `btcusdt@bookTicker`.
std::string_view BinanceType(JsonValue data, std::string_view stream) {
  if (const JsonValue type = data["e"]; type.is_string()) return type.text();
  const size_t at = stream.find('@');
  if (at != std::string_view::npos) {
    const std::string_view rest = stream.substr(at + 1);
    return rest.substr(0, rest.find('@'));
  }
  if (data["lastUpdateId"].exists()) return "depth";
  if (data["B"].exists() && data["A"].exists()) return "bookTicker";
  return "response";
}

}  // namespace

VenueOutcome BinanceDecoder::DecodeMessage(const VenueMessage& message) {
  const JsonValue stream = message.root["stream"];
  const JsonValue data = stream.exists() ? message.root["data"] : message.root;
  const std::string_view type = BinanceType(data, stream.text());
  EventHead head = message.head;
  head.channel = stream.exists() ? stream.text() : type;
  if (type == "depthUpdate") return {type, Depth(data, head, message)};
  if (type == "bookTicker") return {type, BookTicker(data, head, message.sink)};
  if (type == "trade") return {type, Trades(data, head, message.sink, false)};
  if (type == "aggTrade") return {type, Trades(data, head, message.sink, true)};
  if (type == "depth" && !stream.exists()) return {type, Answer(message)};
  return Unknown(type);
}

std::string_view BinanceDecoder::SymbolOfRequest(std::string_view address) const {
  return AddressPart(address, "symbol=");
}

VenueOutcome BinanceDecoder::DecodeAnswer(const VenueMessage& message) {
  if (!message.root["lastUpdateId"].exists()) return Unknown("answer");
  return {"depth", Answer(message)};
}

void BinanceDecoder::TakeSide(JsonValue rows, char side, JsonFields& fields) {
  for (const JsonValue row : fields.Array(rows)) {
    levels_.push_back({side, fields.Decimal(row.At(0)), fields.Amount(row.At(1))});
  }
}

std::string BinanceDecoder::Depth(JsonValue data, EventHead& head, const VenueMessage& message) {
  JsonFields fields;
  head.time_ns = BinanceTime(data, fields);
  head.sym = fields.Text(data["s"]);
  const int64_t first = fields.Number(data["U"]);
  head.seq = fields.Number(data["u"]);
  const JsonValue previous = data["pu"];
  BookUpdate update = {previous.exists() ? fields.Number(previous) : first - 1, head.seq};
  levels_.clear();
  TakeSide(data["b"], 'B', fields);
  TakeSide(data["a"], 'S', fields);
  if (!fields.fit()) return fields.why();
  if (first > head.seq || *update.previous > head.seq) return "its last number is not its largest";
  BookStream* const stream = books_.Find(message.record.connection, head.channel, head.sym);
  if (stream == nullptr) return std::string(kTooManyStreams);
  books_.Update(*stream, head, update, levels_, message.sink);
  return {};
}

std::string BinanceDecoder::BookTicker(JsonValue data, EventHead& head, EventSink& sink) {
  JsonFields fields;
  head.time_ns = BinanceTime(data, fields);
  head.sym = fields.Text(data["s"]);
  head.seq = fields.Number(data["u"]);
  SendQuote(head, data["b"], data["B"], data["a"], data["A"], fields, sink);
  return fields.why();
}

std::string BinanceDecoder::Trades(JsonValue data, EventHead& head, EventSink& sink,
                                   bool is_aggregated) {
  JsonFields fields;
  head.time_ns = BinanceTime(data, fields);
  head.sym = fields.Text(data["s"]);
  Trade trade{head};
  trade.price = fields.Decimal(data["p"]);
  trade.amount = fields.Amount(data["q"]);
  // The buyer was the maker, so the seller was the aggressor.
  trade.side = fields.Truth(data["m"]) ? 'S' : 'B';
  if (is_aggregated) trade.cond = "aggTrade";
  trade.id_text = fields.Id(data[is_aggregated ? "a" : "t"]);
  if (fields.fit()) sink.On(trade);
  return fields.why();
}

// The book of a symbol: that of the request, or of the only one of the recording.
std::string BinanceDecoder::Answer(const VenueMessage& message) {
  JsonFields fields;
  EventHead head = message.head;
  head.channel = kHttpChannel;
  head.time_ns = BinanceTime(message.root, fields);
  head.sym = SymbolOfRequest(message.record.address);
  const int64_t number = fields.Number(message.root["lastUpdateId"]);
  head.seq = number;
  levels_.clear();
  TakeSide(message.root["bids"], 'B', fields);
  TakeSide(message.root["asks"], 'S', fields);
  if (!fields.fit()) return fields.why();
  const std::string only(books_.OnlySymbol().value_or(""));
  if (head.sym.empty()) head.sym = only;
  if (head.sym.empty()) return "neither a request nor a single stream says of which symbol it is";
  books_.Snapshot(head, number, levels_, message.sink);
  return {};
}

}  // namespace tickstack::feed::market
