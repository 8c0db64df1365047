#include "feed/market/taq/taq_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/text_fields.h"

namespace tickstack::feed::market {
namespace {

constexpr double kTaqPriceUnits = 1e4;  // Units per dollar in records of fixed width.
constexpr size_t kTaqTimeDigits = 15;   // Of ns; others have fewer digits behind the seconds.
constexpr size_t kTaqDateDigits = 8;
constexpr std::string_view kTaqEnd = "END|";
constexpr std::string_view kTaqCount = "Record Count :";
// The header and the line END may be among the records that this line counts.
constexpr int64_t kTaqOtherLines = 2;

// Trade correction indicators. Records of `kBefore` have what a trade had before it was corrected;
// the record of the trade has the corrected values.
constexpr std::string_view kTaqTrades[] = {"00", "01", "07", "08"};
constexpr std::string_view kTaqBreaks[] = {"10", "11"};
constexpr std::string_view kTaqBefore = "12";
constexpr char kTaqBreakType = 'B', kTaqBeforeType = 'C';

bool AreDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Returns ns since midnight of HHMMSS and 3, 6 or 9 digits.
std::optional<int64_t> ParseTaqTime(std::string_view text) {
  if (!AreDigits(text) || text.size() > kTaqTimeDigits || text.size() < 9 || text.size() % 3 != 0) {
    return std::nullopt;
  }
  const int64_t number = *ParseInteger(text);
  int64_t unit_ns = 1, units = kNsPerSecond;
  for (size_t digits = text.size(); digits < kTaqTimeDigits; ++digits) {
    unit_ns *= 10;
    units /= 10;
  }
  const int64_t of_second = number % units, clock = number / units;
  const int64_t hours = clock / 10'000, minutes = clock / 100 % 100, seconds = clock % 100;
  if (hours > 23 || minutes > 59 || seconds > 59) return std::nullopt;
  return ((hours * 60 + minutes) * 60 + seconds) * kNsPerSecond + of_second * unit_ns;
}

// A number of 64 bits without a sign, or an empty text.
bool ParseTaqId(std::string_view text, int64_t* id) {
  if (text.empty()) return true;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  *id = static_cast<int64_t>(number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string NameOfTaq(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('.'));
}

}  // namespace

std::optional<int32_t> TaqDayOfName(const std::string& path) {
  const std::string name = NameOfTaq(path);
  if (name.size() < kTaqDateDigits) return std::nullopt;
  const std::string date = name.substr(name.size() - kTaqDateDigits);
  return AreDigits(date) ? ParseDate(date) : std::nullopt;
}

std::optional<TaqKind> TaqKindOfName(const std::string& path) {
  std::string name = NameOfTaq(path);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto has = [&name](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("nbbo")) return TaqKind::kNbbo;
  if (has("trade")) return TaqKind::kTrade;
  if (has("quote") || has("bbo")) return TaqKind::kQuote;
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<TaqFile>> TaqFile::Open(const std::string& path,
                                                       const TaqFileSettings& settings) {
  const std::optional<int32_t> day = TaqDayOfName(path);
  if (day && *day != settings.day) {
    return InvalidArgument("{}: the file's name is of {}, --date is {}", path, FormatDate(*day),
                           FormatDate(settings.day));
  }
  std::unique_ptr<TaqFile> file(new TaqFile(path, settings));
  TS_RETURN_IF_ERROR(file->Rewind());
  return file;
}

absl::Status TaqFile::TakeHeader(std::string_view line) {
  constexpr size_t kShownBytes = 100;
  announced_.reset();
  ended_ = false;
  if (line.find('|') != std::string_view::npos) {
    absl::StatusOr<TaqLayout> layout = TaqLayout::Delimited(line);
    if (!layout.ok()) return Annotate(layout.status(), path());
    layout_ = *std::move(layout);
    return absl::OkStatus();
  }
  if (line.find(kTaqCount) == std::string_view::npos) {
    return DataLoss("{}: line 1: expected a header of columns between |, or a record count: {}",
                    path(), line.substr(0, kShownBytes));
  }
  if (!settings_.kind) {
    return InvalidArgument(
        "{}: neither the file's name nor its header says what it has: expected --kind trade, quote "
        "or nbbo (in a configuration: kind)",
        path());
  }
  constexpr size_t kMilliseconds = 9, kMicroseconds = 12;
  static const int32_t kFirstDayOfMicroseconds = DaysFromCivil(2015, 7, 27);
  layout_ = TaqLayout::FixedWidth(
      *settings_.kind, settings_.day < kFirstDayOfMicroseconds ? kMilliseconds : kMicroseconds);
  return TakeOther({line, 1, 0, true}).status();
}

absl::Status TaqFile::CheckDay(std::string_view date) const {
  const std::optional<int32_t> day = AreDigits(date) ? ParseDate(date) : std::nullopt;
  if (!day) return DataLoss("{}: expected a date, found {}", path(), date);
  if (*day == settings_.day) return absl::OkStatus();
  return InvalidArgument("{}: the file is of {}, --date is {}", path(), FormatDate(*day),
                         FormatDate(settings_.day));
}

absl::StatusOr<bool> TaqFile::TakeOther(const TextLine& line) {
  if (ended_) {
    return DataLoss("{}: line {}: expected the end of the file after the line END", path(),
                    line.number);
  }
  if (!layout_->is_fixed_width()) {
    if (!line.text.starts_with(kTaqEnd)) return false;
    TS_RETURN_IF_ERROR(TakeEnd(line));
    return true;
  }
  // Files that were joined have several such lines.
  const size_t at = line.text.find(kTaqCount);
  if (at == std::string_view::npos) return false;
  const std::string_view head = Trimmed(line.text.substr(0, at));
  const std::optional<int64_t> count =
      ParseInteger(Trimmed(line.text.substr(at + kTaqCount.size())));
  constexpr size_t kHeadBytes = 1 + kTaqDateDigits;  // A letter, and MMDDYYYY.
  if (!count || *count < 0 || head.size() != kHeadBytes) {
    return DataLoss("{}: line {}: expected a record count: {}", path(), line.number, line.text);
  }
  TS_RETURN_IF_ERROR(CheckDay(std::string(head.substr(5)) + std::string(head.substr(1, 4))));
  announced_ = announced_.value_or(0) + *count;
  return true;
}

absl::Status TaqFile::TakeEnd(const TextLine& line) {
  ended_ = true;
  const std::string_view rest = line.text.substr(kTaqEnd.size());
  const size_t date_end = std::min(rest.find('|'), rest.size());
  TS_RETURN_IF_ERROR(CheckDay(rest.substr(0, date_end)));
  std::string_view count_text = rest.substr(std::min(date_end + 1, rest.size()));
  count_text = Trimmed(count_text.substr(0, count_text.find('|')));
  announced_ = ParseInteger(count_text);
  if (announced_ && *announced_ >= 0) return absl::OkStatus();
  return DataLoss("{}: line {}: expected the number of records: {}", path(), line.number,
                  line.text);
}

absl::Status TaqFile::CheckEnd(int64_t records) {
  if (!layout_->is_fixed_width() && !ended_) {
    return DataLoss("{}: the file is cut off after {} records: expected a line END", path(),
                    records);
  }
  const int64_t others = layout_->is_fixed_width() ? 0 : kTaqOtherLines;
  if (*announced_ >= records && *announced_ - records <= others) return absl::OkStatus();
  return DataLoss("{}: found {} records, expected {}: the file is cut off or damaged", path(),
                  records, *announced_);
}

TaqFile::Why TaqFile::Parse(std::string_view line, Record& record) {
  record.type = static_cast<char>(layout_->kind());
  row_ = {};
  if (const Why why = layout_->Split(line, fields_); !why.empty()) return why;
  if (const Why why = ParseHead(record); !why.empty()) return why;
  return layout_->kind() == TaqKind::kTrade ? ParseTrade(record) : ParseQuote();
}

TaqFile::Why TaqFile::ParseHead(Record& record) {
  const std::optional<int64_t> time_ns = ParseTaqTime(fields_[TaqField::kTime]);
  if (!time_ns) return "its time is not a time of the day";
  record.head.recv_ns = record.head.time_ns = settings_.midnight_ns + *time_ns;
  if (const std::string_view text = Trimmed(fields_[TaqField::kParticipantTime]); !text.empty()) {
    const std::optional<int64_t> participant_ns = ParseTaqTime(text);
    if (!participant_ns) return "its participant timestamp is not a time of the day";
    record.head.time_ns = settings_.midnight_ns + *participant_ns;
  }
  const std::optional<int64_t> seq = ParseInteger(Trimmed(fields_[TaqField::kSequence]));
  if (!seq || *seq < 0) return "its sequence number is not a number";
  record.head.seq = *seq;
  const std::string_view symbol = Trimmed(fields_[TaqField::kSymbol]);
  if (symbol.empty() || !IsPrintable(symbol)) return "its symbol is not ASCII";
  // Root and suffix are apart: `BRK B`, or `BRK   B` in fields of fixed width.
  symbol_.clear();
  for (const char c : symbol) {
    if (c != ' ' || symbol_.back() != '.') symbol_ += c == ' ' ? '.' : c;
  }
  for (const TaqField exchange :
       {TaqField::kExchange, TaqField::kBidExchange, TaqField::kAskExchange}) {
    if (!IsPrintable(fields_[exchange])) return "its exchange is not ASCII";
  }
  if (!IsPrintable(fields_[TaqField::kSource])) return "its source is not ASCII";
  record.head.sym = symbol_;
  record.head.venue = Trimmed(fields_[TaqField::kExchange]);
  record.head.channel = Trimmed(fields_[TaqField::kSource]);
  return {};
}

// An empty price is null.
bool TaqFile::ParsePrice(std::string_view text, double* price) const {
  if (layout_->is_fixed_width()) {
    if (!AreDigits(text)) return false;
    *price = static_cast<double>(*ParseInteger(text)) / kTaqPriceUnits;
  } else if (!text.empty()) {
    const std::optional<double> parsed = ParseDecimal(text);
    if (!parsed || *parsed < 0) return false;
    *price = *parsed;
  }
  return true;
}

TaqFile::Why TaqFile::ParseTrade(Record& record) {
  const std::string_view correction = Trimmed(fields_[TaqField::kTradeCorrection]);
  if (correction == kTaqBefore) {
    record.type = kTaqBeforeType;
  } else if (std::ranges::find(kTaqBreaks, correction) != std::end(kTaqBreaks)) {
    record.type = kTaqBreakType;
  } else if (std::ranges::find(kTaqTrades, correction) == std::end(kTaqTrades)) {
    return "its correction indicator is not known";
  }
  if (!ParsePrice(fields_[TaqField::kPrice], &row_.price)) return "its price is not a number";
  const std::string_view volume = Trimmed(fields_[TaqField::kVolume]);
  const std::optional<double> amount = ParseDecimal(volume);
  if (!amount || *amount < 0) return "its volume is not a number from 0 on";
  const std::optional<int64_t> size = ParseInteger(volume);
  if (!size && !settings_.has_amounts) {
    return "its volume is not whole (sizes = \"float\" takes such volumes)";
  }
  if (settings_.has_amounts) {
    row_.amount = *amount;
  } else {
    row_.size = *size;
  }
  if (!ParseTaqId(Trimmed(fields_[TaqField::kTradeId]), &row_.id)) return "its id is not a number";
  if (!IsPrintable(fields_[TaqField::kSaleCondition])) return "its condition is not ASCII";
  return {};
}

TaqFile::Why TaqFile::ParseQuote() {
  const bool prices = ParsePrice(fields_[TaqField::kBid], &row_.price) &&
                      ParsePrice(fields_[TaqField::kAsk], &row_.ask);
  if (!prices) return "a price is not a number";
  // A side without a quote has the price 0.
  if (row_.price == 0) row_.price = kNullPrice;
  if (row_.ask == 0) row_.ask = kNullPrice;
  const std::string_view bid_size = fields_[TaqField::kBidSize],
                         ask_size = fields_[TaqField::kAskSize];
  const std::optional<int64_t> bids = ParseInteger(bid_size), asks = ParseInteger(ask_size);
  if ((!bids && !bid_size.empty()) || (!asks && !ask_size.empty())) {
    return "a size is not a number";
  }
  row_.size = bids.value_or(kNullLong);
  row_.ask_size = asks.value_or(kNullLong);
  cond_.assign(fields_[TaqField::kQuoteCondition]).append(fields_[TaqField::kAskCondition]);
  // A is a quote that is neither cancelled nor corrected.
  const std::string_view correction = fields_[TaqField::kQuoteCorrection];
  if (correction != "A") cond_.append(correction);
  return IsPrintable(cond_) ? Why() : "its condition is not ASCII";
}

void TaqFile::Emit(const Record& record, EventSink& sink) {
  if (layout_->kind() != TaqKind::kTrade) return EmitQuote(record.head, sink);
  if (record.type == static_cast<char>(TaqKind::kTrade)) return EmitTrade(record.head, sink);
  if (record.type != kTaqBreakType) return;
  TradeBreak taken_back{record.head, row_.price, row_.size};
  taken_back.cond = fields_[TaqField::kTradeCorrection];
  taken_back.id = row_.id;
  taken_back.amount = row_.amount;
  sink.On(taken_back);
}

void TaqFile::EmitTrade(const EventHead& head, EventSink& sink) const {
  Trade trade{head, row_.price, row_.size};
  // Blanks before a letter tell its meaning; those at the end say nothing.
  trade.cond = fields_[TaqField::kSaleCondition];
  while (trade.cond.ends_with(' ')) trade.cond.remove_suffix(1);
  trade.id = row_.id;
  trade.amount = row_.amount;
  sink.On(trade);
}

void TaqFile::EmitQuote(const EventHead& head, EventSink& sink) {
  Quote quote{head, row_.price, row_.ask, row_.size, row_.ask_size};
  quote.cond = Trimmed(cond_);
  quote.bid_venue = Trimmed(fields_[TaqField::kBidExchange]);
  quote.ask_venue = Trimmed(fields_[TaqField::kAskExchange]);
  sink.On(quote);
}

}  // namespace tickstack::feed::market
