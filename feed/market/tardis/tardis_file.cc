#include "feed/market/tardis/tardis_file.h"

#include <array>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/text_fields.h"

namespace tickstack::feed::market {
namespace {

constexpr int64_t kNsPerMicrosecond = 1'000;
constexpr int64_t kTardisTimeMax = 8'000'000'000'000'000;  // In us since 1970: the year 2223.

// Positions in the lists of needed columns.
struct TardisHead {
  enum : size_t { kExchange, kSymbol, kTimestamp, kLocalTimestamp, kCount };
};
struct TardisChange {
  enum : size_t { kIsSnapshot = TardisHead::kCount, kSide, kPrice, kAmount };
};
struct TardisTrade {
  enum : size_t { kId = TardisHead::kCount, kSide, kPrice, kAmount };
};
struct TardisQuote {
  enum : size_t { kBidPrice = TardisHead::kCount, kBidAmount, kAskPrice, kAskAmount };
};

constexpr std::array<std::string_view, TardisHead::kCount> kTardisHeadNames = {
    "exchange", "symbol", "timestamp", "local_timestamp"};
constexpr std::array<std::string_view, 4> kTardisChangeNames = {"is_snapshot", "side", "price",
                                                                "amount"};
constexpr std::array<std::string_view, 4> kTardisTradeNames = {"id", "side", "price", "amount"};
constexpr std::array<std::string_view, 4> kTardisQuoteNames = {"bid_price", "bid_amount",
                                                               "ask_price", "ask_amount"};

// A field that may be empty. False if it is not a number.
bool ParseNullable(std::string_view text, double* number) {
  *number = kNullPrice;
  if (text.empty()) return true;
  const std::optional<double> parsed = ParseDecimal(text);
  if (parsed) *number = *parsed;
  return parsed.has_value();
}

bool ParseMicroseconds(std::string_view text, int64_t* time_ns) {
  const std::optional<int64_t> us = ParseInteger(text);
  if (!us || *us < 0 || *us > kTardisTimeMax) return false;
  *time_ns = *us * kNsPerMicrosecond - kUnixNsOfKdbEpoch;
  return true;
}

bool IsTardisName(std::string_view text) { return !text.empty() && IsPrintable(text); }

}  // namespace

absl::StatusOr<std::unique_ptr<TardisFile>> TardisFile::Open(const std::string& path) {
  std::unique_ptr<TardisFile> file(new TardisFile(path));
  TS_RETURN_IF_ERROR(file->Rewind());
  return file;
}

absl::Status TardisFile::TakeHeader(std::string_view line) {
  symbols_.clear();
  return Annotate(FindColumns(line), path());
}

absl::Status TardisFile::FindColumns(std::string_view line) {
  constexpr size_t kShownBytes = 300;
  columns_ = HeaderColumns(line, ',');
  std::vector<std::string_view> needed(kTardisHeadNames.begin(), kTardisHeadNames.end());
  const auto choose = [&](Kind kind, std::span<const std::string_view> names) {
    kind_ = kind;
    needed.insert(needed.end(), names.begin(), names.end());
  };
  if (columns_.Find("is_snapshot")) {
    choose(Kind::kChanges, kTardisChangeNames);
  } else if (columns_.Find("asks[0].price") || columns_.Find("bids[0].price")) {
    choose(Kind::kBooks, {});
  } else if (columns_.Find("bid_price") || columns_.Find("ask_price")) {
    choose(Kind::kQuotes, kTardisQuoteNames);
  } else if (columns_.Find("id") && columns_.Find("side")) {
    choose(Kind::kTrades, kTardisTradeNames);
  } else {
    return DataLoss(
        "expected the header of incremental_book_L2, trades, quotes, book_ticker or book_snapshot, "
        "found {}",
        line.empty() ? "nothing" : line.substr(0, kShownBytes));
  }
  positions_.clear();
  for (const std::string_view name : needed) {
    TS_ASSIGN_OR_RETURN(positions_.emplace_back(), columns_.Need(name));
  }
  return kind_ == Kind::kBooks ? FindLevels() : absl::OkStatus();
}

// The columns of each level follow those of the head.
absl::Status TardisFile::FindLevels() {
  for (size_t level = 0;; ++level) {
    const std::string ask = fmt::format("asks[{}]", level), bid = fmt::format("bids[{}]", level);
    if (!columns_.Find(ask + ".price") && !columns_.Find(bid + ".price")) return absl::OkStatus();
    if (level == kLevelsMax) return DataLoss("expected at most {} levels", kLevelsMax);
    for (const std::string& side : {bid, ask}) {
      TS_ASSIGN_OR_RETURN(positions_.emplace_back(), columns_.Need(side + ".price"));
      TS_ASSIGN_OR_RETURN(positions_.emplace_back(), columns_.Need(side + ".amount"));
    }
  }
}

TardisFile::Why TardisFile::Parse(std::string_view line, Record& record) {
  record.type = static_cast<char>(kind_);
  SplitFields(line, ',', fields_);
  if (fields_.size() != columns_.count()) return "it has not as many fields as the header";
  row_ = {};
  if (const Why why = ParseHead(record); !why.empty()) return why;
  switch (kind_) {
    case Kind::kChanges:
      return ParseChange();
    case Kind::kTrades:
      return ParseTrade();
    case Kind::kQuotes:
      return ParseQuote();
    case Kind::kBooks:
      return ParseBook();
  }
  return {};
}

TardisFile::Why TardisFile::ParseHead(Record& record) {
  if (!IsTardisName(Field(TardisHead::kExchange))) return "its exchange is not ASCII";
  if (!IsTardisName(Field(TardisHead::kSymbol))) return "its symbol is not ASCII";
  record.head.venue = Field(TardisHead::kExchange);
  record.head.sym = Field(TardisHead::kSymbol);
  if (!Field(TardisHead::kTimestamp).empty() &&
      !ParseMicroseconds(Field(TardisHead::kTimestamp), &record.head.time_ns)) {
    return "its timestamp is not in us since 1970";
  }
  if (!ParseMicroseconds(Field(TardisHead::kLocalTimestamp), &record.head.recv_ns)) {
    return "its local_timestamp is not in us since 1970";
  }
  row_.symbol = FindSymbol(Field(TardisHead::kSymbol));
  return row_.symbol == nullptr ? "the file has too many symbols" : Why();
}

TardisFile::Symbol* TardisFile::FindSymbol(std::string_view name) {
  const auto found = symbols_.find(name);
  if (found != symbols_.end()) return found->second.get();
  if (symbols_.size() == kSymbolsMax) return nullptr;
  return symbols_.emplace(name, std::make_unique<Symbol>()).first->second.get();
}

TardisFile::Why TardisFile::ParseChange() {
  const std::string_view snapshot = Field(TardisChange::kIsSnapshot),
                         side = Field(TardisChange::kSide);
  if (snapshot != "true" && snapshot != "false") return "is_snapshot is neither true nor false";
  if (side != "bid" && side != "ask") return "its side is neither bid nor ask";
  const std::optional<double> price = ParseDecimal(Field(TardisChange::kPrice));
  if (!price) return "its price is not a number";
  const std::optional<double> amount = ParseDecimal(Field(TardisChange::kAmount));
  if (!amount || *amount < 0) return "its amount is not a number from 0 on";
  row_.is_snapshot = snapshot == "true";
  row_.side = side == "bid" ? 'B' : 'S';
  row_.price = *price;
  row_.amount = *amount;
  return {};
}

TardisFile::Why TardisFile::ParseTrade() {
  const std::string_view side = Field(TardisTrade::kSide);
  if (side != "buy" && side != "sell" && side != "unknown" && !side.empty()) {
    return "its side is not buy, sell or unknown";
  }
  const std::optional<double> price = ParseDecimal(Field(TardisTrade::kPrice));
  if (!price) return "its price is not a number";
  const std::optional<double> amount = ParseDecimal(Field(TardisTrade::kAmount));
  if (!amount || *amount < 0) return "its amount is not a number from 0 on";
  if (!IsPrintable(Field(TardisTrade::kId))) return "its id is not ASCII";
  row_.side = side == "buy" ? 'B' : side == "sell" ? 'S' : ' ';
  row_.price = *price;
  row_.amount = *amount;
  return {};
}

TardisFile::Why TardisFile::ParseQuote() {
  const bool fits = ParseNullable(Field(TardisQuote::kBidPrice), &row_.price) &&
                    ParseNullable(Field(TardisQuote::kBidAmount), &row_.amount) &&
                    ParseNullable(Field(TardisQuote::kAskPrice), &row_.ask) &&
                    ParseNullable(Field(TardisQuote::kAskAmount), &row_.ask_amount);
  if (!fits) return "a price or amount is not a number";
  if (row_.amount < 0 || row_.ask_amount < 0) return "an amount is negative";
  return {};
}

TardisFile::Why TardisFile::ParseBook() {
  bids_.clear();
  asks_.clear();
  for (size_t at = TardisHead::kCount; at < positions_.size(); at += 2) {
    std::vector<PriceLevel>& side = (at - TardisHead::kCount) % 4 == 0 ? bids_ : asks_;
    const std::string_view price_text = Field(at), amount_text = Field(at + 1);
    if (price_text.empty() && amount_text.empty()) continue;
    const std::optional<double> price = ParseDecimal(price_text);
    const std::optional<double> amount = ParseDecimal(amount_text);
    if (!price || !amount || *amount < 0) return "a price or amount is not a number";
    if (*amount > 0) side.push_back({*price, kNullLong, *amount});
  }
  if (!BookView::AreInOrder(bids_, 'B')) return "its bids are not in order";
  if (!BookView::AreInOrder(asks_, 'S')) return "its asks are not in order";
  return {};
}

void TardisFile::Emit(const Record& record, EventSink& sink) {
  switch (kind_) {
    case Kind::kChanges:
      return EmitChange(record.head, sink);
    case Kind::kTrades: {
      Trade trade{record.head, row_.price};
      trade.side = row_.side;
      trade.amount = row_.amount;
      trade.id_text = Field(TardisTrade::kId);
      return sink.On(trade);
    }
    case Kind::kQuotes: {
      Quote quote{record.head, row_.price, row_.ask};
      quote.bamount = row_.amount;
      quote.aamount = row_.ask_amount;
      return sink.On(quote);
    }
    case Kind::kBooks:
      return row_.symbol->view.Replace(bids_, asks_, record.head, sink);
  }
}

void TardisFile::EmitChange(const EventHead& head, EventSink& sink) {
  Level level{head};
  // A snapshot replaces what was known of the book.
  if (row_.is_snapshot && !row_.symbol->in_snapshot) {
    level.complete = false;
    level.cond = "clear";
    sink.On(level);
  }
  row_.symbol->in_snapshot = row_.is_snapshot;
  level.side = row_.side;
  level.price = row_.price;
  level.amount = row_.amount;
  level.complete = !NextIsOfSameMessage();
  level.cond = row_.is_snapshot ? "snapshot" : "";
  sink.On(level);
}

// Lines of one message of the exchange have the same time of receipt.
bool TardisFile::NextIsOfSameMessage() {
  SplitFields(next_line(), ',', next_fields_);
  if (next_fields_.size() != columns_.count()) return false;
  for (const size_t needed : {size_t{TardisHead::kSymbol}, size_t{TardisHead::kTimestamp},
                              size_t{TardisHead::kLocalTimestamp}}) {
    if (next_fields_[positions_[needed]] != Field(needed)) return false;
  }
  return true;
}

}  // namespace tickstack::feed::market
