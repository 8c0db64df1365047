#pragma once

// Requests for pieces of the log of a day, and their answers (`.u.chain`, `.u.logs`). A tickerplant
// answers them about each day whose log it has.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::tplog {

// Returns the request for messages of a day's log: from number `from` on, about `bytes` of them,
// but at least one if there is one.
Value LogPieceRequest(int32_t date, uint64_t from, int64_t bytes);

struct LogPiece {
  std::span<const std::byte> messages;   // Valid as long as the answer.
  std::optional<uint64_t> log_messages;  // Number of messages of the log, if it is known.
  std::optional<int32_t> next_date;      // Set if the day is over.
  std::vector<uint64_t> cuts;            // Messages that each power cut left, see `.u.cuts`.
};
// kInvalidArgument if it is no answer to LogPieceRequest.
absl::StatusOr<LogPiece> ParseLogPiece(const Value& answer);

// Returns the request for the days that have a log.
Value LogDaysRequest();

struct LogOfDay {
  int32_t date = 0;  // Days since 2000-01-01.
  std::string path;
};
// Returns the days of an answer to LogDaysRequest, in ascending order. kInvalidArgument if it is
// none.
absl::StatusOr<std::vector<LogOfDay>> ParseLogDays(const Value& answer);

}  // namespace tickstack::tplog
