#pragma once

// A table whose rows other processes have: some have those of past days, the others those of the
// last days. A query over it is evaluated there as far as possible
// (query/language/remote_query.h).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/limits.h"
#include "table/value.h"

namespace tickstack::query {

// The column by which the past side is partitioned.
inline constexpr std::string_view kDateColumn = "date";

class RemoteTable {
 public:
  enum class Side : uint8_t {
    kPast,  // Partitioned by `date`.
    kLast,  // Has tables without a column `date`, and TABLE@DATE for each of its days.
  };

  virtual ~RemoteTable() = default;
  virtual const std::string& name() const = 0;
  // True if this side has the table.
  virtual bool IsOn(Side side) const = 0;
  // Returns the names of the columns in their order, without `date`.
  virtual std::vector<std::string> Columns(Side side) const = 0;
  // Returns the days, ascending, that each side answers for. No day is in both.
  virtual std::span<const int32_t> Days(Side side) const = 0;
  // Returns how many of the days, from the first one on, one process has: at least 1. `days` are
  // ascending, and days of this side.
  virtual size_t DaysOfOne(Side side, std::span<const int32_t> days) const = 0;

  // Evaluates a parse tree on one side, in a process that has all of the days. If there is none any
  // more, the error is kAborted: the days were read anew, and the query must begin again. Other
  // errors: those of the query, kUnavailable, `stop`. `limits.sink` may take the answer.
  virtual absl::StatusOr<Value> Ask(Side side, std::span<const int32_t> days, Value tree,
                                    const Limits& limits) const = 0;
};

}  // namespace tickstack::query
