#include "tickerplant/opened_log.h"

#include <optional>

#include "base/directory.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::tickerplant {

absl::StatusOr<std::vector<int32_t>> DaysOfLogsIn(const std::string& directory,
                                                  std::string_view log_name) {
  const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(directory);
  std::vector<int32_t> days;
  if (absl::IsNotFound(entries.status())) return days;
  TS_RETURN_IF_ERROR(entries.status());
  for (const DirectoryEntry& entry : *entries) {
    if (!entry.name.starts_with(log_name)) continue;
    const std::optional<int32_t> day =
        ParseDate(std::string_view(entry.name).substr(log_name.size()));
    if (day) days.push_back(*day);
  }
  return days;
}

void LogOpened(const tplog::TplogWriter& log) {
  const tplog::TplogRecovery& recovery = log.recovery();
  LogInfo(
      "log open path={} seq={} bytes={} created={} torn_bytes_cut={} messages_not_logged={} "
      "feed_progress_known={}",
      log.path(), log.totals().messages, log.totals().log_bytes, recovery.created,
      recovery.log_bytes_cut, recovery.messages_not_logged, log.totals().feed_progress_known);
  if (recovery.power_cut) {
    LogWarn(
        "power was cut, or the file system was mounted again, while the log was open path={} "
        "messages={} messages_not_logged={} bytes_set_aside={} in={}",
        log.path(), log.totals().messages, recovery.messages_not_logged, recovery.log_bytes_cut,
        recovery.cut_path.empty() ? "none" : recovery.cut_path);
  }
  if (recovery.sync_failed) {
    LogWarn(
        "a sync of the log had failed, so its end was compared and written again path={} "
        "bytes_written_again={} messages_not_logged={} bytes_set_aside={} in={}",
        log.path(), recovery.log_bytes_written_again, recovery.messages_not_logged,
        recovery.log_bytes_cut, recovery.cut_path.empty() ? "none" : recovery.cut_path);
  }
  if (recovery.messages_damaged > 0) {
    LogError(
        "log is damaged path={} messages={}: `tickstack log check` says where, subscribers cannot "
        "replay it to its end",
        log.path(), recovery.messages_damaged);
  }
  if (!log.totals().feed_progress_known) {
    LogError(
        "feeds' progress unknown path={}: its index was missing or incomplete; rows of feeds that "
        "resume may be logged twice",
        log.path());
  }
}

}  // namespace tickstack::tickerplant
