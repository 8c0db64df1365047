#pragma once

// Where the fields of NYSE Daily TAQ files are. Both layouts have the same fields:
//
//   delimited (from October 2016)   fields between `|`, named by the first line
//   fixed width (before)            fields at offsets behind the time, which has 9 digits, from
//                                   27 July 2015 on 12
//
// In a file of the NBBO, the fields of a bid and an ask are those of the best ones.

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feed/market/header_columns.h"

namespace tickstack::feed::market {

// What a file has; the letters are those by which its records are counted.
enum class TaqKind : char { kTrade = 'T', kQuote = 'Q', kNbbo = 'N' };

enum class TaqField : size_t {
  kTime,
  kExchange,
  kSymbol,
  kSequence,
  kSource,
  kParticipantTime,
  kVolume,  // Fields of trades.
  kPrice,
  kSaleCondition,
  kTradeCorrection,
  kTradeId,
  kBid,  // Fields of quotes and the NBBO.
  kBidSize,
  kAsk,
  kAskSize,
  kQuoteCondition,
  kQuoteCorrection,
  kBidExchange,  // Fields of the NBBO.
  kAskExchange,
  kAskCondition,
  kCount,
};

// The texts of a record's fields; empty where its layout has none.
class TaqFields {
 public:
  std::string_view operator[](TaqField field) const { return texts_[static_cast<size_t>(field)]; }
  std::string_view& operator[](TaqField field) { return texts_[static_cast<size_t>(field)]; }

 private:
  std::array<std::string_view, static_cast<size_t>(TaqField::kCount)> texts_;
};

// Threads: one owner.
class TaqLayout {
 public:
  // Returns the layout of fixed width; `time_digits` is 9 or 12.
  static TaqLayout FixedWidth(TaqKind kind, size_t time_digits);
  // Returns the layout that a header names. kDataLoss if it lacks a column.
  static absl::StatusOr<TaqLayout> Delimited(std::string_view header);

  // Splits a record, and returns why it does not fit, or an empty text. All records of a file of
  // fixed width have the same length.
  std::string_view Split(std::string_view line, TaqFields& fields);

  TaqKind kind() const { return kind_; }
  // True if prices are 7 and 4 digits without a point.
  bool is_fixed_width() const { return columns_.count() == 0; }

 private:
  struct Slice {
    TaqField field;
    size_t begin;
    size_t bytes;
  };
  struct Position {
    TaqField field;
    size_t at;
  };

  explicit TaqLayout(TaqKind kind) : kind_(kind) {}
  absl::Status FindColumns();

  TaqKind kind_;
  std::vector<Slice> slices_;
  size_t record_bytes_min_ = 0;
  size_t record_bytes_ = 0;  // Length of the first record; 0: there was none.
  HeaderColumns columns_;
  std::vector<Position> positions_;
  std::vector<std::string_view> parts_;
};

}  // namespace tickstack::feed::market
