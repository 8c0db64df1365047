#pragma once

// Repairs what CheckTplog finds. Whatever is cut off is kept in files beside the log.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/machine.h"
#include "tplog/tplog_check.h"
#include "tplog/tplog_totals.h"

namespace tickstack::tplog {

struct TplogRepairOptions {
  // If the log is damaged in the middle, writes its undamaged blocks to FILE.repaired. A block that
  // does not match its checksum is left out completely, because it is not known which of its
  // messages is wrong. Odd messages are left out, too (TplogReport::odd); without this they stay.
  bool skip_damaged = false;
  std::string boot = BootId();  // Identifies the current boot of the machine (tplog_state.h).
  std::optional<std::string> mount = std::nullopt;  // nullopt: MountId of the log.
};

struct TplogRepairReport {
  TplogReport found;           // What the check found before the repair.
  uint64_t log_bytes_cut = 0;  // Kept in cut_path, if any.
  std::string cut_path;
  uint64_t index_bytes_cut = 0;  // Kept in index_cut_path if they were damaged.
  std::string index_cut_path;
  uint64_t messages_indexed = 0;     // Messages that no index covered.
  std::string repaired_path;         // FILE.repaired if skip_damaged had to write it, else empty.
  std::vector<TplogRange> left_out;  // Ranges that are not in repaired_path.
  TplogTotals totals;                // Totals of the log or of FILE.repaired.
};

// Repairs a log and its index. Torn tails are cut off; the log's tail is kept in FILE.cut-OFFSET. A
// damaged index is cut where the damage begins (to FILE.idx.cut-OFFSET) and rebuilt from there; a
// missing one is rebuilt completely. The progress of feeds in the rebuilt part is not known.
//
// A log whose machine lost power while it was written is repaired as the next writer would do it
// (tplog_power_cut.h).
//
// kUnavailable: a writer has the log open. If the log is damaged in the middle, FILE and its index
// are not changed: kDataLoss if skip_damaged is off, kInvalidArgument if it is on and FILE.repaired
// exists already.
absl::StatusOr<TplogRepairReport> RepairTplog(const std::string& path,
                                              const TplogRepairOptions& options);

}  // namespace tickstack::tplog
