#include "feed/market/websocket/okx_decoder.h"

#include <algorithm>
#include <iterator>

namespace tickstack::feed::market {
namespace {

// What a server answers to requests, or says about the connection.
bool IsOkxAnswer(std::string_view event) {
  static constexpr std::string_view kAnswers[] = {"subscribe", "unsubscribe", "error",
                                                  "notice",    "login",       "channel-conn-count"};
  return std::ranges::find(kAnswers, event) != std::end(kAnswers);
}

bool IsOkxBook(std::string_view channel) {
  static constexpr std::string_view kBooks[] = {"books", "books5", "books-elp", "books-l2-tbt",
                                                "books50-l2-tbt"};
  return std::ranges::find(kBooks, channel) != std::end(kBooks);
}

constexpr int64_t kOkxUnitNs = 1'000'000;

}  // namespace

VenueOutcome OkxDecoder::DecodeMessage(const VenueMessage& message) {
  const JsonValue event = message.root["event"];
  if (event.exists())
    return IsOkxAnswer(event.text()) ? VenueOutcome{event.text()} : Unknown("event");
  const JsonValue arg = message.root["arg"];
  const std::string_view channel = arg["channel"].text();
  const bool is_book = IsOkxBook(channel);
  const bool is_trade = channel == "trades" || channel == "trades-all";
  if (!is_book && !is_trade && channel != "bbo-tbt" && channel != "tickers") {
    return Unknown(channel.empty() ? "other" : channel);
  }
  JsonFields fields;
  EventHead head = message.head;
  head.channel = channel;
  head.sym = fields.Text(arg["instId"]);
  const JsonValue data = fields.Array(message.root["data"]);
  if (!fields.fit()) return {channel, fields.why()};
  if (is_trade) return {channel, Trades(data, head, message.sink)};
  for (const JsonValue row : data) {
    std::string why = is_book ? Book(message, row, head) : BestPrices(row, head, message.sink);
    if (!why.empty()) return {channel, std::move(why)};
  }
  return {channel};
}

void OkxDecoder::TakeSide(JsonValue rows, char side, JsonFields& fields) {
  for (const JsonValue row : fields.Array(rows)) {
    levels_.push_back({side, fields.Decimal(row.At(0)), fields.Amount(row.At(1))});
  }
}

std::string OkxDecoder::Book(const VenueMessage& message, JsonValue data, EventHead& head) {
  JsonFields fields;
  head.time_ns = fields.UnitsNs(data["ts"], kOkxUnitNs);
  head.seq = fields.Number(data["seqId"]);
  const JsonValue action = message.root["action"];
  const bool is_snapshot = !action.exists() || action.text() == "snapshot";
  if (!is_snapshot && action.text() != "update") fields.Expect("snapshot or update", action);
  const int64_t previous = is_snapshot ? 0 : fields.Number(data["prevSeqId"]);
  levels_.clear();
  TakeSide(data["bids"], 'B', fields);
  TakeSide(data["asks"], 'S', fields);
  if (!fields.fit()) return fields.why();
  BookStream* const stream = books_.Find(message.record.connection, head.channel, head.sym);
  if (stream == nullptr) return std::string(kTooManyStreams);
  if (!is_snapshot) {
    Update(*stream, head, previous, message.sink);
    return {};
  }
  books_.Begin(*stream, head, levels_, message.sink);
  stream->last = head.seq;
  return {};
}

void OkxDecoder::Update(BookStream& stream, const EventHead& head, int64_t previous,
                        EventSink& sink) {
  const bool continues = stream.last == previous;
  if (!continues && head.seq > previous) {
    return books_.Chain(stream, head, {previous, head.seq}, levels_, sink);
  }
  // Its number is not behind the one before: what is missing cannot be counted.
  if (!continues && stream.last) books_.Break(stream, kNullLong, kNullLong, head.recv_ns, sink);
  stream.last = head.seq;
  books_.Change(stream, head, levels_, sink);
}

std::string OkxDecoder::BestPrices(JsonValue row, EventHead& head, EventSink& sink) {
  JsonFields fields;
  head.time_ns = fields.UnitsNs(row["ts"], kOkxUnitNs);
  if (const JsonValue number = row["seqId"]; number.exists()) head.seq = fields.Number(number);
  if (!row["bids"].exists()) {
    SendQuote(head, row["bidPx"], row["bidSz"], row["askPx"], row["askSz"], fields, sink);
    return fields.why();
  }
  const JsonValue bid = row["bids"].At(0), ask = row["asks"].At(0);
  SendQuote(head, bid.At(0), bid.At(1), ask.At(0), ask.At(1), fields, sink);
  return fields.why();
}

std::string OkxDecoder::Trades(JsonValue data, EventHead& head, EventSink& sink) {
  JsonFields fields;
  std::vector<Trade> trades;
  for (const JsonValue row : data) {
    head.sym = fields.Text(row["instId"]);
    head.time_ns = fields.UnitsNs(row["ts"], kOkxUnitNs);
    if (const JsonValue number = row["seqId"]; number.exists()) head.seq = fields.Number(number);
    Trade& trade = trades.emplace_back(Trade{head});
    trade.price = fields.Decimal(row["px"]);
    trade.amount = fields.Amount(row["sz"]);
    trade.side = fields.Side(row["side"], "buy", "sell");
    trade.id_text = fields.Id(row["tradeId"]);
  }
  return SendTrades(trades, fields, sink);
}

}  // namespace tickstack::feed::market
