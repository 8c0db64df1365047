#include "feed/market/websocket/deribit_decoder.h"

namespace tickstack::feed::market {
namespace {

constexpr int64_t kDeribitUnitNs = 1'000'000;

}  // namespace

VenueOutcome DeribitDecoder::DecodeMessage(const VenueMessage& message) {
  const JsonValue params = message.root["params"];
  const std::string_view channel = params["channel"].text();
  if (message.root["method"].text() != "subscription") {
    return message.root["id"].exists() ? VenueOutcome{"response"} : Unknown("other");
  }
  const std::string_view type = channel.substr(0, channel.find('.'));
  EventHead head = message.head;
  head.channel = channel;
  if (type == "book") return {type, Book(message, params["data"], head)};
  if (type == "trades") return {type, Trades(params["data"], head, message.sink)};
  if (type == "quote" || type == "ticker") {
    return {type, BestPrices(params["data"], head, message.sink)};
  }
  return Unknown(type);
}

void DeribitDecoder::TakeSide(JsonValue rows, char side, JsonFields& fields) {
  for (const JsonValue row : fields.Array(rows)) {
    const bool has_action = row.At(0).is_string();
    const size_t price = has_action ? 1 : 0;
    double amount = fields.Amount(row.At(price + 1));
    if (has_action && row.At(0).text() == "delete") amount = 0;
    levels_.push_back({side, fields.Decimal(row.At(price)), amount});
  }
}

std::string DeribitDecoder::Book(const VenueMessage& message, JsonValue data, EventHead& head) {
  JsonFields fields;
  head.sym = fields.Text(data["instrument_name"]);
  head.time_ns = fields.UnitsNs(data["timestamp"], kDeribitUnitNs);
  head.seq = fields.Number(data["change_id"]);
  const JsonValue type = data["type"];
  const bool is_snapshot = !type.exists() || type.text() == "snapshot";
  if (!is_snapshot && type.text() != "change") fields.Expect("snapshot or change", type);
  const int64_t previous = is_snapshot ? 0 : fields.Number(data["prev_change_id"]);
  levels_.clear();
  TakeSide(data["bids"], 'B', fields);
  TakeSide(data["asks"], 'S', fields);
  if (!fields.fit()) return fields.why();
  BookStream* const stream = books_.Find(message.record.connection, head.channel, head.sym);
  if (stream == nullptr) return std::string(kTooManyStreams);
  if (is_snapshot) {
    books_.Begin(*stream, head, levels_, message.sink);
    stream->last = head.seq;
    return {};
  }
  if (previous >= head.seq) return "its change_id is not behind prev_change_id";
  books_.Chain(*stream, head, {previous, head.seq}, levels_, message.sink);
  return {};
}

std::string DeribitDecoder::Trades(JsonValue data, EventHead& head, EventSink& sink) {
  JsonFields fields;
  std::vector<Trade> trades;
  for (const JsonValue row : fields.Array(data)) {
    head.sym = fields.Text(row["instrument_name"]);
    head.time_ns = fields.UnitsNs(row["timestamp"], kDeribitUnitNs);
    head.seq = fields.Number(row["trade_seq"]);
    Trade& trade = trades.emplace_back(Trade{head});
    trade.price = fields.Decimal(row["price"]);
    trade.amount = fields.Amount(row["amount"]);
    trade.side = fields.Side(row["direction"], "buy", "sell");
    trade.id_text = fields.Id(row["trade_id"]);
    // Says which side was liquidated.
    if (const JsonValue liquidation = row["liquidation"]; liquidation.exists()) {
      trade.cond = fields.Text(liquidation);
    }
  }
  return SendTrades(trades, fields, sink);
}

std::string DeribitDecoder::BestPrices(JsonValue data, EventHead& head, EventSink& sink) {
  JsonFields fields;
  head.sym = fields.Text(data["instrument_name"]);
  head.time_ns = fields.UnitsNs(data["timestamp"], kDeribitUnitNs);
  SendQuote(head, data["best_bid_price"], data["best_bid_amount"], data["best_ask_price"],
            data["best_ask_amount"], fields, sink);
  return fields.why();
}

}  // namespace tickstack::feed::market
