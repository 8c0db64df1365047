#pragma once

// A log that is open for its writer, and messages for operators about it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "tplog/tplog_writer.h"

namespace tickstack::tickerplant {

struct OpenedLog {
  int32_t date = 0;                            // Its day.
  std::unique_ptr<tplog::TplogWriter> writer;  // nullptr: there is none.
  NameMap<tplog::BlockPlace> last_blocks;      // By table, as TplogRecovery has it, up to now.
};

// Returns the days that have a log of this name in the directory, in no order; none if there is no
// directory.
absl::StatusOr<std::vector<int32_t>> DaysOfLogsIn(const std::string& directory,
                                                  std::string_view log_name);

// Logs what a log contains, and how its last writer, a power cut or a failed disk left it.
void LogOpened(const tplog::TplogWriter& log);

}  // namespace tickstack::tickerplant
