#pragma once

// What a tickerplant answers, as far as a subscriber needs it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"
#include "table/value.h"

namespace tickstack::wire {

// Where the log stands: how many of its messages have been published, and its path, empty if there
// is no log.
struct LogPosition {
  uint64_t seq = 0;
  std::string path;
};

// When a tickerplant publishes to those who are not ahead.
struct BatchTimes {
  int64_t interval_ns = 0;  // 0: at once.
  int64_t next_ns = 0;      // By the tickerplant's clock, since 2000.
};

struct SubscriptionAnswer {
  std::vector<Schema> schemas;
  LogPosition log;
  std::optional<BatchTimes> batches;  // If rows come ahead.
};

// (i; L), such as `.u `i`L` gives: a long and a symbol `:path`. Nulls mean that there is no log.
absl::StatusOr<LogPosition> ParseLogPosition(const Value& i, const Value& log);

// The schema of an empty table, keyed or not, under its name.
absl::StatusOr<Schema> SchemaOf(std::string_view table, const Value& value);

// (schemas; i; L), the answer to `.u.subx`, with (interval; next) behind it if `ahead was asked
// for, a timespan and a timestamp (another fourth item is no answer to that); or (schemas; (i; L)),
// the answer to kdb+tick's
// `(.u.sub[`;`];.u `i`L)`. schemas is a list of (name; empty table), or one such pair.
absl::StatusOr<SubscriptionAnswer> ParseSubscriptionAnswer(const Value& answer);

}  // namespace tickstack::wire
