#pragma once

// Parses a tickerplant's answers to a subscriber.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"
#include "table/value.h"

namespace tickstack::tplog {

// The published position of a log: its number of published messages, and its path, which is empty
// if there is no log.
struct LogPosition {
  uint64_t seq = 0;
  std::string path;
};

// When a tickerplant publishes to subscribers that did not request `ahead`.
struct BatchTimes {
  int64_t interval_ns = 0;  // 0 publishes immediately.
  int64_t next_ns = 0;      // By the tickerplant's clock, since 2000.
};

struct SubscriptionAnswer {
  std::vector<Schema> schemas;
  LogPosition log;
  std::optional<BatchTimes> batches;  // Set if `ahead` was requested.
};

// Parses (i; L), the answer to `.u `i`L`: a long and a symbol `:path`. Nulls: there is no log.
absl::StatusOr<LogPosition> ParseLogPosition(const Value& i, const Value& log);

// Returns the schema of an empty table, keyed or not, with this name.
absl::StatusOr<Schema> SchemaOf(std::string_view table, const Value& value);

// Parses (schemas; i; L), the answer to `.u.subx`. It ends in (interval; next), a timespan and a
// timestamp, if `ahead was requested; any other fourth item is ignored. Also parses
// (schemas; (i; L)), the answer to kdb+tick's `(.u.sub[`;`];.u `i`L)`. schemas is a list of
// (name; empty table), or one such pair.
absl::StatusOr<SubscriptionAnswer> ParseSubscriptionAnswer(const Value& answer);

}  // namespace tickstack::tplog
