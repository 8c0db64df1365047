#pragma once

// Specifies bars: a source table, a width, and named aggregates in the words of q.
//
//   name = "trade_minute"   table = "trade"   width = "1m"
//   open = "first price"    vwap = "size wavg price"    trades = "count"
//   spread = "twavg ask-bid"
//
// Rows count in the order of their time, and rows of one time in the order of arrival. So whatever
// order rows arrive in, a bar is the result of one pass over the finished day.
//
// The functions are those of bar_functions.h; docs/operating/tables.md lists their values and what
// they do with nulls.
//
// Operands, x in `avg x` and w in `w wavg x`, are columns or the difference of two. Sums of floats
// are exact and rounded once, so they may differ from q's in the last digits; infinities, and
// floats from 1e24 on, are left out of them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"

namespace tickstack::aggengine {

struct BarFunction;

// A column, or the difference of two.
struct Operand {
  std::string column;
  std::string minus;  // Empty if nothing is subtracted.
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Aggregate {
  std::string name;                       // Name of the bar's column.
  const BarFunction* function = nullptr;  // A row of BarFunctions().
  Operand x;
  Operand weight;  // For wavg.
};

struct BarSpec {
  std::string name;   // Name of the published table.
  std::string table;  // The source: has columns `time p`, or `time n` since midnight, and `sym s`.
  int64_t width_ns = 0;
  std::vector<Aggregate> aggregates;
};

inline constexpr int64_t kWidthMinNs = 1'000'000;           // Smallest width: 1 ms.
inline constexpr int64_t kWidthMaxNs = 86'400'000'000'000;  // Largest width: 1 day.

// kInvalidArgument, with what was found and expected, if `text` is no aggregate.
absl::StatusOr<Aggregate> ParseAggregate(std::string_view name, std::string_view text);

// Returns the type of an operand over the columns of `source`. kInvalidArgument if it has no such
// column, or if the columns of a difference are not numbers.
absl::StatusOr<Type> TypeOf(const Operand& operand, const Schema& source);

// Returns the schema of the keyed table in which the bars are published. Its columns: `sym`; when
// the bar begins (`date` for a day, `minute` for a minute, `start` for other widths); `time` of its
// newest row; the aggregates. The times have the source's type. A source with times of day does not
// tell which day it is, so the column of daily bars is `start`, too. kInvalidArgument, by column,
// if the source lacks what they need.
absl::StatusOr<Schema> SchemaOf(const BarSpec& spec, const Schema& source);

// Returns the default aggregates of bars of trade or quote; none for other tables.
std::vector<Aggregate> DefaultAggregates(std::string_view table);

// Returns trade_minute, trade_daily, quote_minute and quote_daily, if `tables` has trade and quote
// with the columns that they need. For each one that lacks some, `left_out` (unless nullptr) gets
// what was found and expected.
std::vector<BarSpec> DefaultBars(std::span<const Schema> tables,
                                 std::vector<std::string>* left_out = nullptr);

}  // namespace tickstack::aggengine
