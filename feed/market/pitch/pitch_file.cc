#include "feed/market/pitch/pitch_file.h"

#include <algorithm>
#include <array>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "base/time.h"
#include "feed/market/big_endian.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kTimeBytes = 8, kIdBytes = 12, kSharesBytes = 6, kLongSharesBytes = 10;
constexpr size_t kNameShort = 6, kNameLong = 8, kPriceShort = 10, kPriceLong = 14;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr std::string_view kNoNumber = "a number has other characters";

bool IsPitchDigit(char c) { return c >= '0' && c <= '9'; }

// Reads the fields of a line from left to right. After a field that does not fit, `why` is set.
class LineFields {
 public:
  explicit LineFields(std::string_view text) : rest_(text) {}

  std::string_view why{};

  std::string_view Text(size_t bytes) {
    const std::string_view field = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    if (!IsPrintable(field)) why = "it is not ASCII";
    return PaddedText(AsBytes(field).data(), field.size());
  }
  char Char() { return Take(1)[0]; }
  // Decimal digits, behind spaces or zeros. At most 18 of them.
  int64_t Number(size_t digits) {
    std::string_view field = Take(digits);
    while (field.size() > 1 && field[0] == ' ') field.remove_prefix(1);
    int64_t value = 0;
    for (const char c : field) {
      if (!IsPitchDigit(c)) why = kNoNumber;
      value = value * 10 + (c - '0');
    }
    return value;
  }
  // The number of an order or execution: 12 digits of base 36, so less than 2^63.
  int64_t Id() {
    constexpr int64_t kBase = 36;
    int64_t value = 0;
    for (const char c : Take(kIdBytes)) {
      if (!IsPitchDigit(c) && (c < 'A' || c > 'Z'))
        why = "a number of base 36 has other characters";
      value = value * kBase + (IsPitchDigit(c) ? c - '0' : c - 'A' + 10);
      if (!why.empty()) value = 0;
    }
    return value;
  }

 private:
  std::string_view Take(size_t bytes) {
    const std::string_view field = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return field;
  }
  std::string_view rest_;
};

}  // namespace

const PitchFile::LineType PitchFile::kTypes[] = {
    {'s', 8, &PitchFile::ClearLine},
    {'A', 36, &PitchFile::AddLine<kNameShort, kPriceShort>},
    {'d', 43, &PitchFile::AddLine<kNameLong, kPriceShort>},
    {'1', 47, &PitchFile::AddLine<kNameLong, kPriceLong>},
    {'E', 30, &PitchFile::ExecutedLine},
    {'X', 18, &PitchFile::CancelLine},
    {'P', 47, &PitchFile::TradeLine<kNameShort, kPriceShort>},
    {'r', 49, &PitchFile::TradeLine<kNameLong, kPriceShort>},
    {'2', 53, &PitchFile::TradeLine<kNameLong, kPriceLong>},
    {'B', 12, &PitchFile::BreakLine},
    {'H', 12, &PitchFile::StatusLine},
    {'I', 59, &PitchFile::AuctionLine<kPriceShort>},
    {'3', 71, &PitchFile::AuctionLine<kPriceLong>},
    {'J', 29, &PitchFile::SummaryLine<kPriceShort>},
    {'4', 33, &PitchFile::SummaryLine<kPriceLong>},
    {'R', 9, &PitchFile::RetailLine},
};

absl::StatusOr<std::unique_ptr<PitchFile>> PitchFile::Open(const std::string& path,
                                                           int64_t midnight_ns) {
  std::unique_ptr<PitchFile> file(new PitchFile(path, midnight_ns));
  TS_RETURN_IF_ERROR(file->Rewind());
  return file;
}

absl::Status PitchFile::Rewind() {
  TS_ASSIGN_OR_RETURN(lines_, LineReader::Open(path_));
  book_.Reset();
  line_ = {};
  fields_at_ = 0;
  seq_ = 0;
  time_ns_ = kNullLong;
  counts_ = {};
  return absl::OkStatus();
}

absl::StatusOr<bool> PitchFile::Advance() {
  TS_ASSIGN_OR_RETURN(const std::optional<TextLine> next, lines_->Next());
  if (!next) return false;
  line_ = *next;
  ReadHead();
  return true;
}

// Finds type and time.
void PitchFile::ReadHead() {
  const size_t begin = line_.text.starts_with('S') ? 1 : 0;
  fields_at_ = 0;
  if (begin == 0 && !line_.text.empty() && !IsPitchDigit(line_.text[0])) return;
  if (line_.text.size() <= begin + kTimeBytes) return;
  LineFields fields(line_.text.substr(begin));
  const int64_t of_day_ms = fields.Number(kTimeBytes);
  if (!fields.why.empty() || of_day_ms * kNsPerMs >= kNsPerDay) return;
  type_ = line_.text[begin + kTimeBytes];
  fields_at_ = begin + kTimeBytes + 1;
  time_ns_ = midnight_ns_ + of_day_ms * kNsPerMs;
  ++seq_;
}

absl::Status PitchFile::Decode(EventSink& sink) {
  const std::string_view why = DecodeFields(sink);
  if (why.empty()) return absl::OkStatus();
  if (!line_.has_end) {
    return DataLoss("{}: byte {}: the file is cut off within line {}: found {} bytes", path_,
                    line_.offset, line_.number, line_.text.size());
  }
  counts_.AddProblem(fmt::format("{}: byte {}: line {} of {} bytes: {}", path_, line_.offset,
                                 line_.number, line_.text.size(), why));
  return absl::OkStatus();
}

std::string_view PitchFile::DecodeFields(EventSink& sink) {
  if (fields_at_ == 0) {
    const uint8_t first = line_.text.empty() ? 0 : static_cast<uint8_t>(line_.text[0]);
    const bool is_message = !line_.text.empty() && (first == 'S' || IsPitchDigit(line_.text[0]));
    ++(is_message ? counts_.bad : counts_.unknown)[first];
    return is_message ? "it has no time of day and type" : "";
  }
  const auto type = static_cast<uint8_t>(type_);
  const auto* const known = std::ranges::find(kTypes, type_, &LineType::type);
  if (known == std::end(kTypes)) {
    ++counts_.unknown[type];
    return {};
  }
  EventHead head;
  head.seq = seq_;
  head.time_ns = time_ns_;
  const Line line = {line_.text.substr(fields_at_), head, sink};
  const std::string_view why = line.fields.size() < known->bytes ? "it is shorter than its type"
                                                                 : (this->*known->decode)(line);
  ++(why.empty() ? counts_.decoded : counts_.bad)[type];
  return why;
}

// Where the message has a code of the customer, it has the market participant, too.
template <size_t kNameBytes, size_t kPriceBytes>
std::string_view PitchFile::AddLine(const Line& line) {
  LineFields fields(line.fields);
  Order event{line.head};
  event.id = fields.Id();
  event.side = fields.Char();
  event.size = fields.Number(kSharesBytes);
  event.sym = fields.Text(kNameBytes);
  const int64_t price = fields.Number(kPriceBytes);
  std::array<char, 2> cond = {fields.Char(), ' '};
  if constexpr (kNameBytes == kNameLong) {
    event.mpid = fields.Text(4);
    cond[1] = fields.Char();
  }
  event.cond = PaddedText(AsBytes({cond.data(), cond.size()}).data(), cond.size());
  return fields.why.empty() ? book_.Add(event, price, line.sink) : fields.why;
}

std::string_view PitchFile::ExecutedLine(const Line& line) {
  LineFields fields(line.fields);
  Order event{line.head};
  event.id = fields.Id();
  event.size = fields.Number(kSharesBytes);
  event.trade_id = fields.Id();
  if (!fields.why.empty()) return fields.why;
  return book_.Execute(event, std::nullopt, std::nullopt, "E", line.sink, counts_);
}

std::string_view PitchFile::CancelLine(const Line& line) {
  LineFields fields(line.fields);
  Order event{line.head};
  event.id = fields.Id();
  event.size = fields.Number(kSharesBytes);
  return fields.why.empty() ? book_.Cancel(event, line.sink, counts_) : fields.why;
}

template <size_t kNameBytes, size_t kPriceBytes>
std::string_view PitchFile::TradeLine(const Line& line) {
  LineFields fields(line.fields);
  Trade trade{line.head};
  fields.Id();
  trade.side = fields.Char();
  trade.size = fields.Number(kSharesBytes);
  trade.sym = fields.Text(kNameBytes);
  trade.price = PitchPrice(fields.Number(kPriceBytes));
  trade.id = fields.Id();
  trade.cond = "P";
  if (fields.why.empty()) line.sink.On(trade);
  return fields.why;
}

std::string_view PitchFile::BreakLine(const Line& line) {
  LineFields fields(line.fields);
  TradeBreak broken{line.head};
  broken.id = fields.Id();
  if (fields.why.empty()) line.sink.On(broken);
  return fields.why;
}

std::string_view PitchFile::StatusLine(const Line& line) {
  LineFields fields(line.fields);
  Status status{line.head, "trading"};
  status.sym = fields.Text(kNameLong);
  status.state = fields.Text(1);
  status.reason = fields.Text(3);
  if (fields.why.empty()) line.sink.On(status);
  return fields.why;
}

std::string_view PitchFile::RetailLine(const Line& line) {
  LineFields fields(line.fields);
  Status status{line.head, "retail"};
  status.sym = fields.Text(kNameLong);
  status.state = fields.Text(1);
  if (fields.why.empty()) line.sink.On(status);
  return fields.why;
}

std::string_view PitchFile::ClearLine(const Line& line) {
  LineFields fields(line.fields);
  Order event{line.head};
  event.sym = fields.Text(kNameLong);
  if (event.sym.empty()) return "it has no symbol";
  if (fields.why.empty()) book_.Clear(event, line.sink);
  return fields.why;
}

// Shares to buy and to sell are those paired, and the rest of the larger side.
template <size_t kPriceBytes>
std::string_view PitchFile::AuctionLine(const Line& line) {
  LineFields fields(line.fields);
  Auction auction{line.head};
  auction.sym = fields.Text(kNameLong);
  auction.kind = fields.Text(1);
  auction.ref_price = PitchPrice(fields.Number(kPriceBytes));
  const int64_t buy = fields.Number(kLongSharesBytes), sell = fields.Number(kLongSharesBytes);
  auction.paired = std::min(buy, sell);
  auction.imbalance = std::max(buy, sell) - auction.paired;
  if (buy != sell) auction.side = buy > sell ? 'B' : 'S';
  auction.indicative = PitchPrice(fields.Number(kPriceBytes));
  auction.book_price = PitchPrice(fields.Number(kPriceBytes));
  if (fields.why.empty()) line.sink.On(auction);
  return fields.why;
}

template <size_t kPriceBytes>
std::string_view PitchFile::SummaryLine(const Line& line) {
  LineFields fields(line.fields);
  Auction auction{line.head};
  auction.state = "summary";
  auction.sym = fields.Text(kNameLong);
  auction.kind = fields.Text(1);
  auction.indicative = PitchPrice(fields.Number(kPriceBytes));
  auction.paired = fields.Number(kLongSharesBytes);
  if (fields.why.empty()) line.sink.On(auction);
  return fields.why;
}

}  // namespace tickstack::feed::market
