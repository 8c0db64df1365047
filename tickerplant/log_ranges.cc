#include "tickerplant/log_ranges.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/status.h"

namespace tickstack::tickerplant {
namespace {

absl::StatusOr<Tickerplant::EndedLog> LogOf(const Tickerplant& tickerplant, std::string_view path) {
  if (path.starts_with(':')) path.remove_prefix(1);
  if (path == tickerplant.log().path()) {
    return Tickerplant::EndedLog{tickerplant.log().path(), tickerplant.logged_seq()};
  }
  const std::optional<Tickerplant::EndedLog>& ended = tickerplant.ended_log();
  if (ended && path == ended->path) return *ended;
  return NotFound("log: {} is neither today's log nor the one before it", path);
}

absl::Status NoMessage(int64_t from, uint64_t messages) {
  return InvalidArgument("length: .u.log from message {}, the log has {}", from, messages);
}

}  // namespace

absl::StatusOr<ByteBuffer> LogRanges::Read(const Tickerplant& tickerplant, std::string_view path,
                                           int64_t from, int64_t bytes) {
  TS_ASSIGN_OR_RETURN(const Tickerplant::EndedLog log, LogOf(tickerplant, path));
  return Read(log, from, bytes);
}

absl::StatusOr<ByteBuffer> LogRanges::Read(const Tickerplant::EndedLog& log, int64_t from,
                                           int64_t bytes) {
  const uint64_t end = log.messages.value_or(std::numeric_limits<uint64_t>::max());
  if (from < 0 || static_cast<uint64_t>(from) > end) return NoMessage(from, end);
  // A chained tickerplant asks at the end of the log again and again.
  if (static_cast<uint64_t>(from) == end) return ByteBuffer();
  if (reader_ == nullptr || path_ != log.path) {
    TS_ASSIGN_OR_RETURN(reader_, tplog::TplogReader::Open(log.path));
    path_ = log.path;
  }
  absl::StatusOr<ByteBuffer> range =
      reader_->ReadRange(static_cast<uint64_t>(from), end,
                         static_cast<uint64_t>(std::clamp<int64_t>(bytes, 1, kBytesMax)));
  if (!log.messages && absl::IsNotFound(range.status()))
    return NoMessage(from, reader_->next_seq());
  if (!range.ok()) reader_ = nullptr;  // The disk may have failed for a moment only.
  return range;
}

}  // namespace tickstack::tickerplant
