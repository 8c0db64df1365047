#include "tplog/log_piece.h"

#include <algorithm>

#include "base/status.h"
#include "base/time.h"
#include "wire/protocol.h"

namespace tickstack::tplog {

Value LogPieceRequest(int32_t date, uint64_t from, int64_t bytes) {
  return Value::List({Value::String(wire::protocol::kChain), Value::Date(date),
                      Value::Long(static_cast<int64_t>(from)), Value::Long(bytes)});
}

absl::StatusOr<LogPiece> ParseLogPiece(const Value& answer) {
  constexpr size_t kItems = 4;
  const bool fits = answer.is_list() && answer.count() == kItems &&
                    answer.items()[0].is(Type::kByte) &&
                    answer.items()[1].is_atom_of(Type::kLong) &&
                    answer.items()[2].is_atom_of(Type::kDate) && answer.items()[3].is(Type::kLong);
  if (!fits) {
    return InvalidArgument("{}: expected (bytes; long; date; longs)", wire::protocol::kChain);
  }
  LogPiece piece;
  piece.messages = answer.items()[0].elements();
  const auto messages = answer.items()[1].as<int64_t>();
  if (messages >= 0) piece.log_messages = static_cast<uint64_t>(messages);
  const auto next = answer.items()[2].as<int32_t>();
  if (next != kNullInt) piece.next_date = next;
  for (const int64_t cut : answer.items()[3].span<int64_t>()) {
    piece.cuts.push_back(static_cast<uint64_t>(cut));
  }
  return piece;
}

Value LogDaysRequest() { return Value::List({Value::String(wire::protocol::kLogs), Value()}); }

absl::StatusOr<std::vector<LogOfDay>> ParseLogDays(const Value& answer) {
  const Value* const dates = answer.is_table() ? answer.FindColumn("date") : nullptr;
  const Value* const paths = answer.is_table() ? answer.FindColumn("path") : nullptr;
  const bool fits = dates != nullptr && dates->is(Type::kDate) && paths != nullptr &&
                    paths->is(Type::kSymbol) && paths->count() == dates->count();
  if (!fits) {
    return InvalidArgument("{}: answer is {}, expected a table with dates and paths",
                           wire::protocol::kLogs, NameOf(answer.type()));
  }
  std::vector<LogOfDay> logs;
  for (size_t i = 0; i < dates->count(); ++i) {
    const std::string_view path = paths->symbols()[i];
    logs.push_back(
        {dates->span<int32_t>()[i], std::string(path.substr(path.starts_with(':') ? 1 : 0))});
  }
  std::ranges::sort(logs, {}, &LogOfDay::date);
  return logs;
}

}  // namespace tickstack::tplog
