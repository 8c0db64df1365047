#include "feed/market/taq/taq_layout.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/status.h"
#include "feed/market/text_fields.h"

namespace tickstack::feed::market {
namespace {

// A field of a kind of file. Names are without blanks and `_`, in lower case: files of different
// years differ in these.
struct TaqColumn {
  TaqField field;
  std::string_view name;  // In the header of a delimited file.
  size_t begin;           // In a record of fixed width, behind the time.
  size_t bytes;           // 0: a record of fixed width does not have it.
  bool is_needed = true;
};

constexpr TaqColumn kTradeColumns[] = {
    {TaqField::kExchange, "exchange", 0, 1},
    {TaqField::kSymbol, "symbol", 1, 16},
    {TaqField::kSaleCondition, "salecondition", 17, 4},
    {TaqField::kVolume, "tradevolume", 21, 9},
    {TaqField::kPrice, "tradeprice", 30, 11},
    {TaqField::kTradeCorrection, "tradecorrectionindicator", 42, 2},
    {TaqField::kSequence, "sequencenumber", 44, 16},
    {TaqField::kSource, "sourceoftrade", 60, 1},
    {TaqField::kTradeId, "tradeid", 0, 0},
    {TaqField::kParticipantTime, "participanttimestamp", 0, 0},
};
constexpr TaqColumn kQuoteColumns[] = {
    {TaqField::kExchange, "exchange", 0, 1},
    {TaqField::kSymbol, "symbol", 1, 16},
    {TaqField::kBid, "bidprice", 17, 11},
    {TaqField::kBidSize, "bidsize", 28, 7},
    {TaqField::kAsk, "offerprice", 35, 11},
    {TaqField::kAskSize, "offersize", 46, 7},
    {TaqField::kQuoteCondition, "quotecondition", 53, 1},
    {TaqField::kSequence, "sequencenumber", 60, 16},
    {TaqField::kQuoteCorrection, "quotecancelcorrection", 78, 1},
    {TaqField::kSource, "sourceofquote", 79, 1},
    {TaqField::kParticipantTime, "participanttimestamp", 0, 0},
};
// Up to version 2.2, both sides have one condition.
constexpr TaqColumn kNbboColumns[] = {
    {TaqField::kSymbol, "symbol", 1, 16},
    {TaqField::kSequence, "sequencenumber", 60, 16},
    {TaqField::kQuoteCorrection, "quotecancelcorrection", 78, 1},
    {TaqField::kSource, "sourceofquote", 79, 1},
    {TaqField::kQuoteCondition, "nbboquotecondition", 80, 1, false},
    {TaqField::kQuoteCondition, "bestbidquotecondition", 0, 0, false},
    {TaqField::kAskCondition, "bestofferquotecondition", 0, 0, false},
    {TaqField::kBidExchange, "bestbidexchange", 81, 1},
    {TaqField::kBid, "bestbidprice", 82, 11},
    {TaqField::kBidSize, "bestbidsize", 93, 7},
    {TaqField::kAskExchange, "bestofferexchange", 107, 1},
    {TaqField::kAsk, "bestofferprice", 108, 11},
    {TaqField::kAskSize, "bestoffersize", 119, 7},
    {TaqField::kParticipantTime, "participanttimestamp", 0, 0},
};
constexpr size_t kNbboBytes = 133;  // Of fixed width, behind the time, with what is not needed.

std::span<const TaqColumn> ColumnsOf(TaqKind kind) {
  switch (kind) {
    case TaqKind::kTrade:
      return kTradeColumns;
    case TaqKind::kQuote:
      return kQuoteColumns;
    case TaqKind::kNbbo:
      return kNbboColumns;
  }
  return {};
}

// Returns a header with names as in the tables.
std::string PlainHeader(std::string_view header) {
  std::string plain;
  for (const char c : header) {
    if (c == ' ' || c == '_') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

}  // namespace

TaqLayout TaqLayout::FixedWidth(TaqKind kind, size_t time_digits) {
  TaqLayout layout(kind);
  layout.slices_.push_back({TaqField::kTime, 0, time_digits});
  layout.record_bytes_min_ = kind == TaqKind::kNbbo ? time_digits + kNbboBytes : 0;
  for (const TaqColumn& column : ColumnsOf(kind)) {
    if (column.bytes == 0) continue;
    const size_t begin = time_digits + column.begin;
    layout.slices_.push_back({column.field, begin, column.bytes});
    layout.record_bytes_min_ = std::max(layout.record_bytes_min_, begin + column.bytes);
  }
  return layout;
}

absl::StatusOr<TaqLayout> TaqLayout::Delimited(std::string_view header) {
  HeaderColumns columns(PlainHeader(header), '|');
  TaqLayout layout(columns.Find("tradeprice")     ? TaqKind::kTrade
                   : columns.Find("bestbidprice") ? TaqKind::kNbbo
                                                  : TaqKind::kQuote);
  layout.columns_ = std::move(columns);
  TS_RETURN_IF_ERROR(layout.FindColumns());
  return layout;
}

absl::Status TaqLayout::FindColumns() {
  TS_ASSIGN_OR_RETURN(const size_t time, columns_.Need("time"));
  positions_ = {{TaqField::kTime, time}};
  bool has_condition = false;
  for (const TaqColumn& column : ColumnsOf(kind_)) {
    if (!column.is_needed && !columns_.Find(column.name)) continue;
    TS_ASSIGN_OR_RETURN(const size_t at, columns_.Need(column.name));
    positions_.push_back({column.field, at});
    has_condition |= column.field == TaqField::kQuoteCondition;
  }
  // The NBBO has one of two columns.
  if (kind_ == TaqKind::kNbbo && !has_condition) {
    return columns_.Need("bestbidquotecondition").status();
  }
  return absl::OkStatus();
}

std::string_view TaqLayout::Split(std::string_view line, TaqFields& fields) {
  fields = {};
  if (!is_fixed_width()) {
    SplitFields(line, '|', parts_);
    if (parts_.size() != columns_.count()) return "it has not as many fields as the header";
    for (const Position& position : positions_) fields[position.field] = parts_[position.at];
    return {};
  }
  if (line.size() < record_bytes_min_) return "it is shorter than its kind";
  if (record_bytes_ == 0) record_bytes_ = line.size();
  if (line.size() != record_bytes_) return "it has not the length of the first record";
  for (const Slice& slice : slices_) fields[slice.field] = line.substr(slice.begin, slice.bytes);
  return {};
}

}  // namespace tickstack::feed::market
