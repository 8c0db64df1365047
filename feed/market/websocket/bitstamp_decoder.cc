#include "feed/market/websocket/bitstamp_decoder.h"

#include <algorithm>
#include <iterator>

namespace tickstack::feed::market {
namespace {

constexpr int64_t kBitstampUnitNs = 1'000;
constexpr std::string_view kBitstampChanges = "diff_order_book_";
constexpr std::string_view kBitstampTrades = "live_trades_";
constexpr std::string_view kBitstampRequest = "/order_book/";

// What a server answers to requests, or says about the connection.
bool IsBitstampAnswer(std::string_view event) {
  static constexpr std::string_view kAnswers[] = {"bts:subscription_succeeded",
                                                  "bts:unsubscription_succeeded", "bts:heartbeat",
                                                  "bts:request_reconnect", "bts:error"};
  return std::ranges::find(kAnswers, event) != std::end(kAnswers);
}

}  // namespace

VenueOutcome BitstampDecoder::DecodeMessage(const VenueMessage& message) {
  const std::string_view event = message.root["event"].text();
  const std::string_view channel = message.root["channel"].text();
  EventHead head = message.head;
  head.channel = channel;
  if (event == "data" && channel.starts_with(kBitstampChanges)) {
    head.sym = channel.substr(kBitstampChanges.size());
    return {"diff_order_book", Changes(message, head)};
  }
  if (event == "trade" && channel.starts_with(kBitstampTrades)) {
    head.sym = channel.substr(kBitstampTrades.size());
    return {"live_trades", TradeOf(message.root["data"], head, message.sink)};
  }
  if (event.starts_with("bts:"))
    return IsBitstampAnswer(event) ? VenueOutcome{event} : Unknown("bts");
  return Unknown(event);
}

std::string_view BitstampDecoder::SymbolOfRequest(std::string_view address) const {
  return AddressPart(address, kBitstampRequest);
}

VenueOutcome BitstampDecoder::DecodeAnswer(const VenueMessage& message) {
  const std::string_view sym = SymbolOfRequest(message.record.address);
  if (sym.empty()) return Unknown("answer");
  return {"order_book", Snapshot(message, sym)};
}

void BitstampDecoder::TakeSide(JsonValue rows, char side, JsonFields& fields) {
  for (const JsonValue row : fields.Array(rows)) {
    levels_.push_back({side, fields.Decimal(row.At(0)), fields.Amount(row.At(1))});
  }
}

// Takes levels and time of a book, and returns its number, which is its time in us.
int64_t BitstampDecoder::TakeBook(JsonValue data, EventHead& head, JsonFields& fields) {
  const int64_t number = fields.Number(data["microtimestamp"]);
  head.time_ns = fields.UnitsNs(data["microtimestamp"], kBitstampUnitNs);
  levels_.clear();
  TakeSide(data["bids"], 'B', fields);
  TakeSide(data["asks"], 'S', fields);
  return number;
}

std::string BitstampDecoder::Changes(const VenueMessage& message, EventHead& head) {
  JsonFields fields;
  const int64_t number = TakeBook(message.root["data"], head, fields);
  if (!fields.fit()) return fields.why();
  BookStream* const stream = books_.Find(message.record.connection, head.channel, head.sym);
  if (stream == nullptr) return std::string(kTooManyStreams);
  books_.Update(*stream, head, {std::nullopt, number}, levels_, message.sink);
  return {};
}

std::string BitstampDecoder::Snapshot(const VenueMessage& message, std::string_view sym) {
  JsonFields fields;
  EventHead head = message.head;
  head.sym = sym;
  head.channel = kHttpChannel;
  const int64_t number = TakeBook(message.root, head, fields);
  if (!fields.fit()) return fields.why();
  books_.Snapshot(head, number, levels_, message.sink);
  return {};
}

std::string BitstampDecoder::TradeOf(JsonValue data, EventHead& head, EventSink& sink) {
  // Older messages have the numbers only, which may have lost digits.
  const auto decimal = [&](std::string_view text_key, std::string_view key) {
    return data[text_key].exists() ? data[text_key] : data[key];
  };
  JsonFields fields;
  head.time_ns = fields.UnitsNs(data["microtimestamp"], kBitstampUnitNs);
  Trade trade{head};
  trade.price = fields.Decimal(decimal("price_str", "price"));
  trade.amount = fields.Amount(decimal("amount_str", "amount"));
  trade.side = fields.Side(data["type"], "0", "1");
  trade.id_text = fields.Id(data["id"]);
  if (fields.fit()) sink.On(trade);
  return fields.why();
}

}  // namespace tickstack::feed::market
