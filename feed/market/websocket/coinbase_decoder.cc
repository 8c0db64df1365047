#include "feed/market/websocket/coinbase_decoder.h"

namespace tickstack::feed::market {

void CoinbaseDecoder::Connect(std::string_view connection, int64_t recv_ns, EventSink& sink) {
  if (const auto found = numbered_.find(connection); found != numbered_.end()) {
    numbered_.erase(found);
  }
  VenueDecoder::Connect(connection, recv_ns, sink);
}

VenueOutcome CoinbaseDecoder::DecodeMessage(const VenueMessage& message) {
  const JsonValue channel = message.root["channel"];
  if (channel.is_string()) return DecodeAdvanced(message, channel.text());
  return DecodeExchange(message, message.root["type"].text());
}

// Exchange.

VenueOutcome CoinbaseDecoder::DecodeExchange(const VenueMessage& message, std::string_view type) {
  JsonFields fields;
  EventHead head = message.head;
  const JsonValue root = message.root, sym = root["product_id"], time = root["time"];
  if (type == "subscriptions" || type == "heartbeat") return {type};
  const bool is_book = type == "snapshot" || type == "l2update";
  const bool is_match = type == "match" || type == "last_match";
  if (!is_book && !is_match && type != "ticker") return Unknown(type);
  head.sym = fields.Text(sym);
  // Snapshots have no time, nor do tickers before the first trade.
  head.time_ns = time.exists() ? fields.IsoNs(time) : kNullLong;
  if (!fields.fit()) return {type, fields.why()};
  if (is_book) return {type, Book(message, head, type == "snapshot")};
  if (is_match) return {type, Match(root, head, message.sink, type == "last_match")};
  return {type, Ticker(root, head, message.sink)};
}

std::string CoinbaseDecoder::Book(const VenueMessage& message, EventHead& head, bool is_snapshot) {
  head.channel = "level2";
  JsonFields fields;
  levels_.clear();
  const auto take = [&](char side, JsonValue price, JsonValue amount) {
    levels_.push_back({side, fields.Decimal(price), fields.Amount(amount)});
  };
  if (is_snapshot) {
    for (const JsonValue row : fields.Array(message.root["bids"])) take('B', row.At(0), row.At(1));
    for (const JsonValue row : fields.Array(message.root["asks"])) take('S', row.At(0), row.At(1));
  } else {
    for (const JsonValue row : fields.Array(message.root["changes"])) {
      take(fields.Side(row.At(0), "buy", "sell"), row.At(1), row.At(2));
    }
  }
  return SendBook(message, head, is_snapshot, fields);
}

std::string CoinbaseDecoder::Match(JsonValue root, EventHead& head, EventSink& sink, bool is_last) {
  JsonFields fields;
  head.channel = "matches";
  head.seq = fields.Number(root["sequence"]);
  Trade trade{head};
  trade.price = fields.Decimal(root["price"]);
  trade.amount = fields.Amount(root["size"]);
  trade.side = fields.Side(root["side"], "sell", "buy");
  trade.id_text = fields.Id(root["trade_id"]);
  if (is_last) trade.cond = "last_match";
  if (fields.fit()) sink.On(trade);
  return fields.why();
}

std::string CoinbaseDecoder::Ticker(JsonValue root, EventHead& head, EventSink& sink) {
  JsonFields fields;
  head.channel = "ticker";
  head.seq = fields.Number(root["sequence"]);
  SendQuote(head, root["best_bid"], root["best_bid_size"], root["best_ask"], root["best_ask_size"],
            fields, sink);
  return fields.why();
}

// Advanced Trade.

VenueOutcome CoinbaseDecoder::DecodeAdvanced(const VenueMessage& message,
                                             std::string_view channel) {
  if (std::string why = CheckNumber(message); !why.empty()) return {channel, std::move(why)};
  const bool is_ticker = channel == "ticker" || channel == "ticker_batch";
  if (channel == "subscriptions" || channel == "heartbeats") return {channel};
  if (!is_ticker && channel != "l2_data" && channel != "market_trades") return Unknown(channel);
  JsonFields fields;
  EventHead head = message.head;
  head.channel = channel;
  head.seq = fields.Number(message.root["sequence_num"]);
  const int64_t time_ns = fields.IsoNs(message.root["timestamp"]);
  const JsonValue events = fields.Array(message.root["events"]);
  if (!fields.fit()) return {channel, fields.why()};
  for (const JsonValue event : events) {
    head.time_ns = time_ns;
    std::string why = is_ticker              ? Tickers(event, head, message.sink)
                      : channel == "l2_data" ? Levels(message, event, head)
                                             : MarketTrades(event, head, message.sink);
    if (!why.empty()) return {channel, std::move(why)};
  }
  return {channel};
}

// Finds messages of the connection that are missing. Its books are then unknown until their next
// snapshots.
std::string CoinbaseDecoder::CheckNumber(const VenueMessage& message) {
  JsonFields fields;
  const int64_t number = fields.Number(message.root["sequence_num"]);
  if (!fields.fit()) return fields.why();
  const std::string_view connection = message.record.connection;
  // A connection starts with 0, also if the recording does not say that it was made anew.
  if (number == 0 && numbered_.contains(connection)) {
    Connect(connection, message.head.recv_ns, message.sink);
  }
  const auto found = numbered_.find(connection);
  if (found == numbered_.end()) {
    numbered_.emplace(connection, Numbered{number, message.head.recv_ns});
    return {};
  }
  Numbered& last = found->second;
  if (number <= last.number) {
    ++counts_.repeated;
    return "its sequence_num is not larger than the one before";
  }
  if (number > last.number + 1) {
    books_.BreakAll(connection, last.number + 1, number - 1, last.recv_ns, message.head.recv_ns,
                    message.sink);
  }
  last = {number, message.head.recv_ns};
  return {};
}

std::string CoinbaseDecoder::Levels(const VenueMessage& message, JsonValue event, EventHead& head) {
  JsonFields fields;
  head.sym = fields.Text(event["product_id"]);
  const std::string_view type = fields.Text(event["type"]);
  if (type != "snapshot" && type != "update") fields.Expect("snapshot or update", event["type"]);
  levels_.clear();
  for (const JsonValue row : fields.Array(event["updates"])) {
    levels_.push_back({fields.Side(row["side"], "bid", "offer"), fields.Decimal(row["price_level"]),
                       fields.Amount(row["new_quantity"]), fields.IsoNs(row["event_time"])});
  }
  return SendBook(message, head, type == "snapshot", fields);
}

std::string CoinbaseDecoder::MarketTrades(JsonValue event, EventHead& head, EventSink& sink) {
  JsonFields fields;
  const bool is_snapshot = fields.Text(event["type"]) == "snapshot";
  std::vector<Trade> trades;
  for (const JsonValue row : fields.Array(event["trades"])) {
    head.sym = fields.Text(row["product_id"]);
    head.time_ns = fields.IsoNs(row["time"]);
    Trade& trade = trades.emplace_back(Trade{head});
    trade.price = fields.Decimal(row["price"]);
    trade.amount = fields.Amount(row["size"]);
    trade.side = fields.Side(row["side"], "SELL", "BUY");
    trade.id_text = fields.Id(row["trade_id"]);
    if (is_snapshot) trade.cond = kSnapshotCond;
  }
  return SendTrades(trades, fields, sink);
}

std::string CoinbaseDecoder::Tickers(JsonValue event, EventHead& head, EventSink& sink) {
  JsonFields fields;
  for (const JsonValue row : fields.Array(event["tickers"])) {
    head.sym = fields.Text(row["product_id"]);
    SendQuote(head, row["best_bid"], row["best_bid_quantity"], row["best_ask"],
              row["best_ask_quantity"], fields, sink);
  }
  return fields.why();
}

// Both.

std::string CoinbaseDecoder::SendBook(const VenueMessage& message, const EventHead& head,
                                      bool is_snapshot, const JsonFields& fields) {
  if (!fields.fit()) return fields.why();
  BookStream* const stream = books_.Find(message.record.connection, head.channel, head.sym);
  if (stream == nullptr) return std::string(kTooManyStreams);
  if (is_snapshot) {
    books_.Begin(*stream, head, levels_, message.sink);
  } else {
    books_.Change(*stream, head, levels_, message.sink);
  }
  return {};
}

}  // namespace tickstack::feed::market
