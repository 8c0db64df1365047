#pragma once

// Cures what CheckTplog finds. Nothing that is cut off is lost: it is kept in files beside the log.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/machine.h"
#include "wire/tplog_check.h"
#include "wire/tplog_totals.h"

namespace tickstack::wire {

struct TplogRepairOptions {
  // Of a log that is damaged in the middle, write what is whole to FILE.repaired. A block that does
  // not match its checksum is left out whole: which of its messages is wrong cannot be known, and
  // wrong prices are worse than none.
  bool skip_damaged = false;
  std::string boot = BootId();  // Which start of the machine this is: see tplog_state.h.
};

struct TplogRepairReport {
  TplogReport found;           // Before the repair.
  uint64_t log_bytes_cut = 0;  // Kept in cut_path, if any.
  std::string cut_path;
  uint64_t index_bytes_cut = 0;  // Kept in index_cut_path if they were damaged.
  std::string index_cut_path;
  uint64_t messages_indexed = 0;     // That no index covered.
  std::string repaired_path;         // FILE.repaired if skip_damaged had to write it, else empty.
  std::vector<TplogRange> left_out;  // What is not in it.
  TplogTotals totals;                // Of the log, or of FILE.repaired.
};

// A torn tail is cut off the log (to FILE.cut-OFFSET), a torn one off the index; a damaged index is
// cut where the damage begins (to FILE.idx.cut-OFFSET) and made anew from there, or whole if there
// was none; feeds' progress in what was made anew is not known any more.
//
// A log whose machine lost its power under a writer is mended as its next writer would: see
// tplog_power_cut.h.
//
// kUnavailable: a writer has the log open. kDataLoss: the log is damaged, not torn, and
// skip_damaged is off; then nothing is changed. With it FILE and its index are not touched.
// kInvalidArgument: FILE.repaired exists already.
absl::StatusOr<TplogRepairReport> RepairTplog(const std::string& path,
                                              const TplogRepairOptions& options);

}  // namespace tickstack::wire
