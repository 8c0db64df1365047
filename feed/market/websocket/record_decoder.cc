#include "feed/market/websocket/record_decoder.h"

#include <algorithm>

#include "base/status.h"

namespace tickstack::feed::market {
namespace {

// Whether a type of a message can be part of a name that is shown.
bool IsTypeName(std::string_view type) {
  constexpr size_t kTypeBytesMax = 32;
  return !type.empty() && type.size() <= kTypeBytesMax &&
         std::ranges::all_of(type, [](char c) { return c > ' ' && c <= '~'; });
}

// The types of messages that have no book. Others may.
bool IsWithoutBook(std::string_view type) {
  constexpr std::string_view kTypes[] = {
      "trade",      "aggTrade", "live_trades", "match",        "last_match",
      "trades",     "quote",    "ticker",      "ticker_batch", "tickers",
      "trades-all", "bbo-tbt",  "bookTicker",  "heartbeat",    "market_trades",
      "status",     "response", "other",       "subscribe",    "subscriptions"};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordDecoder>> RecordDecoder::Create(std::string_view venue) {
  std::unique_ptr<RecordDecoder> created(new RecordDecoder());
  TS_ASSIGN_OR_RETURN(created->decoder_, MakeVenueDecoder(venue, created->counts_));
  return created;
}

RecordDecoder::Outcome RecordDecoder::Take(const Record& record, Place place, EventSink& sink) {
  if (record.kind == Record::Kind::kConnected) {
    counts_.AddNamed("connections");
    decoder_->Connect(record.connection, record.recv_ns, sink);
    return {};
  }
  ++messages_;
  if (const std::string why = json_.Parse(record.text); !why.empty()) {
    return {Fail(place, "json", why), true};
  }
  EventHead head;
  head.recv_ns = record.recv_ns;
  head.seq = messages_;
  const VenueOutcome outcome = decoder_->Decode({record, json_.root(), head, sink});
  const std::string_view type = IsTypeName(outcome.type) ? outcome.type : "other";
  if (!outcome.why.empty()) return {Fail(place, type, outcome.why), !IsWithoutBook(type)};
  if (outcome.is_known) {
    counts_.AddNamed(type);
  } else {
    counts_.AddUnknown(type);
  }
  return {};
}

std::string RecordDecoder::Fail(Place place, std::string_view type, std::string_view why) {
  counts_.AddNamed(fmt::format("bad_{}", type));
  counts_.AddProblem(fmt::format("{}: {}: {}", place(), type, why));
  return std::string(why);
}

std::vector<StreamPosition> RecordDecoder::Positions(std::string_view connection) const {
  const int64_t complete_ns = decoder_->books().CompleteNs(connection);
  if (complete_ns == kNullLong) return {};
  StreamPosition position;
  position.session = connection;
  position.next_seq = static_cast<uint64_t>(messages_) + 1;
  position.delivered_ns = complete_ns;
  return {position};
}

void RecordDecoder::Continue(const StreamPosition& position) {
  messages_ = std::max(messages_, static_cast<int64_t>(position.next_seq) - 1);
  decoder_->Continue(position.session, position.delivered_ns);
}

}  // namespace tickstack::feed::market
