#include "feed/market/websocket/kraken_decoder.h"

#include <algorithm>
#include <optional>

#include "feed/market/text_fields.h"

namespace tickstack::feed::market {
namespace {

constexpr std::string_view kBook1 = "book-";
constexpr size_t kDepth2Default = 10;
constexpr size_t kDepths2[] = {kDepth2Default, 25, 100, 500, 1'000};

// Of version 1: the number of elements between channel id and channel.
size_t Bodies1(JsonValue root) { return root.size() - 3; }

}  // namespace

void KrakenDecoder::Connect(std::string_view connection, int64_t recv_ns, EventSink& sink) {
  std::erase_if(by_stream_, [&](const auto& each) { return each.first->session == connection; });
  VenueDecoder::Connect(connection, recv_ns, sink);
}

VenueOutcome KrakenDecoder::DecodeMessage(const VenueMessage& message) {
  if (message.root.is_array()) return DecodeArray(message);
  if (const JsonValue event = message.root["event"]; event.exists()) {
    return DecodeEvent(event.text());
  }
  if (message.root["method"].is_string()) {
    return {"response", Subscribed(message)};
  }
  const JsonValue channel = message.root["channel"];
  if (!channel.is_string()) return Unknown("other");
  return DecodeChannel(message, channel.text());
}

// Version 1.

VenueOutcome KrakenDecoder::DecodeEvent(std::string_view event) {
  for (const std::string_view known : {"heartbeat", "systemStatus", "subscriptionStatus"}) {
    if (event == known) return {known};
  }
  return Unknown(event);
}

VenueOutcome KrakenDecoder::DecodeArray(const VenueMessage& message) {
  const JsonValue root = message.root;
  if (root.size() < 4) return {"array", "expected at least 4 elements"};
  JsonFields fields;
  const std::string_view channel = fields.Text(root.At(root.size() - 2));
  EventHead head = message.head;
  head.channel = channel;
  head.sym = fields.Text(root.At(root.size() - 1));
  if (!fields.fit()) return {"array", fields.why()};
  if (channel.starts_with(kBook1)) return {"book", Book1(message, head)};
  if (channel == "trade") return {channel, Trades1(root.At(1), head, message.sink)};
  if (channel == "ticker") return {channel, Ticker1(root.At(1), head, message.sink)};
  return Unknown(channel);
}

void KrakenDecoder::TakeRow(char side, JsonValue price, JsonValue amount, int64_t time_ns,
                            JsonFields& fields) {
  const BookLevel level = {side, fields.Decimal(price), fields.Amount(amount), time_ns};
  changes_.push_back({level, price.text(), amount.text()});
  levels_.push_back(level);
}

void KrakenDecoder::TakeRows1(JsonValue rows, char side, JsonFields& fields) {
  if (!rows.exists()) return;
  for (const JsonValue row : fields.Array(rows)) {
    TakeRow(side, row.At(0), row.At(1), fields.SecondsNs(row.At(2)), fields);
  }
}

std::string KrakenDecoder::Book1(const VenueMessage& message, const EventHead& head) {
  const std::optional<int64_t> depth = ParseInteger(head.channel.substr(kBook1.size()));
  if (!depth || *depth < 1 || *depth > int64_t{kDepthMax}) return "its depth is not 1 to 1000";
  JsonFields fields;
  BookMessage book;
  book.depth = static_cast<size_t>(*depth);
  changes_.clear();
  levels_.clear();
  // Bids before asks, in whichever body they are.
  for (const auto& [side, snapshot_key, change_key] :
       {std::tuple{'B', "bs", "b"}, std::tuple{'S', "as", "a"}}) {
    for (size_t i = 1; i <= Bodies1(message.root); ++i) {
      const JsonValue body = fields.Object(message.root.At(i));
      if (body[snapshot_key].exists()) book.is_snapshot = true;
      TakeRows1(body[snapshot_key], side, fields);
      TakeRows1(body[change_key], side, fields);
      if (body["c"].exists()) book.checksum = body["c"];
    }
  }
  return TakeBook(message, head, book, fields);
}

std::string KrakenDecoder::Trades1(JsonValue rows, EventHead& head, EventSink& sink) {
  JsonFields fields;
  std::vector<Trade> trades;
  for (const JsonValue row : fields.Array(rows)) {
    head.time_ns = fields.SecondsNs(row.At(2));
    Trade& trade = trades.emplace_back(Trade{head});
    trade.price = fields.Decimal(row.At(0));
    trade.amount = fields.Amount(row.At(1));
    trade.side = fields.Side(row.At(3), "b", "s");
    trade.cond = fields.Text(row.At(4));
  }
  return SendTrades(trades, fields, sink);
}

std::string KrakenDecoder::Ticker1(JsonValue body, const EventHead& head, EventSink& sink) {
  JsonFields fields;
  const JsonValue bid = fields.Array(body["b"]), ask = fields.Array(body["a"]);
  SendQuote(head, bid.At(0), bid.At(2), ask.At(0), ask.At(2), fields, sink);
  return fields.why();
}

// Version 2.

VenueOutcome KrakenDecoder::DecodeChannel(const VenueMessage& message, std::string_view channel) {
  if (channel == "heartbeat" || channel == "status") return {channel};
  if (channel != "book" && channel != "trade" && channel != "ticker") return Unknown(channel);
  JsonFields fields;
  const std::string_view type = fields.Text(message.root["type"]);
  const JsonValue data = fields.Array(message.root["data"]);
  if (!fields.fit()) return {channel, fields.why()};
  if (type != "snapshot" && type != "update") {
    fields.Expect("snapshot or update", message.root["type"]);
    return {channel, fields.why()};
  }
  const bool is_snapshot = type == "snapshot";
  EventHead head = message.head;
  head.channel = channel;
  if (channel == "trade") return {channel, Trades2(data, head, message.sink, is_snapshot)};
  for (const JsonValue each : data) {
    std::string why = channel == "book" ? Book2(message, each, head, is_snapshot)
                                        : Ticker2(each, head, message.sink);
    if (!why.empty()) return {channel, std::move(why)};
  }
  return {channel};
}

// The answer to a subscription has the depth of its book.
std::string KrakenDecoder::Subscribed(const VenueMessage& message) {
  const JsonValue result = message.root["result"];
  if (result["channel"].text() != "book" || !result["depth"].exists()) return {};
  JsonFields fields;
  const std::string_view sym = fields.Text(result["symbol"]);
  const int64_t depth = fields.Number(result["depth"]);
  if (fields.fit() && (depth < 1 || depth > int64_t{kDepthMax})) {
    fields.Expect("a depth of 1 to 1000", result["depth"]);
  }
  if (!fields.fit()) return fields.why();
  if (depths_.size() < BookStreams::kStreamsMax) {
    depths_[{std::string(message.record.connection), std::string(sym)}] =
        static_cast<size_t>(depth);
  }
  return {};
}

// Without the answer, the smallest depth that can have such a snapshot.
size_t KrakenDecoder::Depth2(const VenueMessage& message, std::string_view sym,
                             JsonValue data) const {
  const auto found = depths_.find({std::string(message.record.connection), std::string(sym)});
  if (found != depths_.end()) return found->second;
  const size_t levels = std::max(data["bids"].size(), data["asks"].size());
  const auto* const depth =
      std::ranges::find_if(kDepths2, [&](size_t each) { return each >= levels; });
  return depth == std::end(kDepths2) ? kDepthMax : *depth;
}

void KrakenDecoder::TakeRows2(JsonValue rows, char side, JsonFields& fields) {
  for (const JsonValue row : fields.Array(rows)) {
    TakeRow(side, row["price"], row["qty"], kNullLong, fields);
  }
}

std::string KrakenDecoder::Book2(const VenueMessage& message, JsonValue data, EventHead& head,
                                 bool is_snapshot) {
  JsonFields fields;
  head.sym = fields.Text(data["symbol"]);
  const JsonValue time = data["timestamp"];
  head.time_ns = time.exists() ? fields.IsoNs(time) : kNullLong;
  changes_.clear();
  levels_.clear();
  TakeRows2(data["bids"], 'B', fields);
  TakeRows2(data["asks"], 'S', fields);
  const BookMessage book = {is_snapshot, Depth2(message, head.sym, data), data["checksum"]};
  return TakeBook(message, head, book, fields);
}

std::string KrakenDecoder::Trades2(JsonValue data, EventHead& head, EventSink& sink,
                                   bool is_snapshot) {
  JsonFields fields;
  std::vector<Trade> trades;
  for (const JsonValue each : data) {
    head.sym = fields.Text(each["symbol"]);
    head.time_ns = fields.IsoNs(each["timestamp"]);
    Trade& trade = trades.emplace_back(Trade{head});
    trade.price = fields.Decimal(each["price"]);
    trade.amount = fields.Amount(each["qty"]);
    trade.side = fields.Side(each["side"], "buy", "sell");
    trade.id_text = fields.Id(each["trade_id"]);
    const std::string_view kind = fields.Text(each["ord_type"]);
    trade.cond = is_snapshot ? kSnapshotCond : kind;
  }
  return SendTrades(trades, fields, sink);
}

std::string KrakenDecoder::Ticker2(JsonValue data, EventHead& head, EventSink& sink) {
  JsonFields fields;
  head.sym = fields.Text(data["symbol"]);
  const JsonValue time = data["timestamp"];
  head.time_ns = time.exists() ? fields.IsoNs(time) : kNullLong;
  SendQuote(head, data["bid"], data["bid_qty"], data["ask"], data["ask_qty"], fields, sink);
  return fields.why();
}

// Both versions.

std::string KrakenDecoder::TakeBook(const VenueMessage& message, const EventHead& head,
                                    const BookMessage& book, JsonFields& fields) {
  const int64_t checksum = book.checksum.exists() ? fields.Number(book.checksum) : 0;
  if (!fields.fit()) return fields.why();
  BookStream* const stream = books_.Find(message.record.connection, head.channel, head.sym);
  if (stream == nullptr) return std::string(kTooManyStreams);
  if (book.is_snapshot) {
    TakeSnapshot(*stream, head, book, checksum, message.sink);
  } else {
    TakeChanges(*stream, head, book, checksum, message.sink);
  }
  return {};
}

void KrakenDecoder::TakeSnapshot(BookStream& stream, const EventHead& head, const BookMessage& book,
                                 int64_t checksum, EventSink& sink) {
  KrakenBook& kept = by_stream_.insert_or_assign(&stream, KrakenBook(book.depth)).first->second;
  for (const KrakenBook::Change& change : changes_) kept.Apply(change);
  kept.Cut(levels_);
  if (Check(stream, book, checksum, head.recv_ns, sink)) {
    books_.Begin(stream, head, levels_, sink);
  } else {
    books_.Change(stream, head, levels_, sink);
  }
}

void KrakenDecoder::TakeChanges(BookStream& stream, const EventHead& head, const BookMessage& book,
                                int64_t checksum, EventSink& sink) {
  const size_t sent = levels_.size();
  if (stream.is_whole()) {
    KrakenBook& kept = by_stream_.at(&stream);
    for (const KrakenBook::Change& change : changes_) kept.Apply(change);
    kept.Cut(levels_);
    if (!Check(stream, book, checksum, head.recv_ns, sink)) levels_.resize(sent);
  }
  books_.Change(stream, head, levels_, sink);
}

// Returns whether the checksum is right, or not there; if not, the book is broken.
bool KrakenDecoder::Check(BookStream& stream, const BookMessage& book, int64_t checksum,
                          int64_t recv_ns, EventSink& sink) {
  if (!book.checksum.exists()) return true;
  if (by_stream_.at(&stream).Checksum() == checksum) {
    counts_.AddNamed("checksums");
    return true;
  }
  counts_.AddNamed("bad_checksums");
  by_stream_.erase(&stream);
  books_.Break(stream, kNullLong, kNullLong, recv_ns, sink);
  return false;
}

}  // namespace tickstack::feed::market
