#include "tplog/tplog_repair.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_recovery.h"
#include "tplog/tplog_state.h"

namespace tickstack::tplog {
namespace {

using Kind = TplogProblem::Kind;

// Cuts the index where its damage begins, and keeps the bytes that are cut.
absl::Status CutDamagedIndex(const std::string& path, TplogRepairReport& report) {
  uint64_t offset = UINT64_MAX;
  for (const TplogProblem& problem : report.found.problems) {
    if (problem.kind == Kind::kIndexDamaged) offset = std::min(offset, problem.offset);
  }
  const std::string index_path = TplogIndexPath(path);
  TS_ASSIGN_OR_RETURN(report.index_cut_path, CutPath(index_path, offset));
  if (offset < kIndexHeaderBytes) return RenameReplacing(index_path, report.index_cut_path);
  TS_ASSIGN_OR_RETURN(File index, File::OpenOrCreate(index_path));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, index.Bytes());
  TS_RETURN_IF_ERROR(CopyBytes(index, offset, bytes, report.index_cut_path));
  report.index_bytes_cut = bytes - offset;
  TS_RETURN_IF_ERROR(index.Truncate(offset));
  return index.SyncData();
}

absl::Status WriteWithoutDamage(const std::string& path, TplogRepairReport& report) {
  const std::string to = path + ".repaired";
  TS_ASSIGN_OR_RETURN(const bool exists, FileExists(to));
  if (exists) return InvalidArgument("{}: exists already", to);
  report.left_out = report.found.damaged;
  for (const TplogRange& odd : report.found.odd_ranges) report.left_out.push_back(odd);
  std::ranges::sort(report.left_out, {}, &TplogRange::offset);
  if (report.found.torn_bytes != 0) {
    report.left_out.push_back(
        {report.found.log_bytes - report.found.torn_bytes, report.found.torn_bytes});
  }
  TS_ASSIGN_OR_RETURN(const File log, File::OpenForReading(path));
  const std::string new_path = to + ".new";
  {
    TS_ASSIGN_OR_RETURN(File repaired, File::OpenOrCreate(new_path));
    TS_RETURN_IF_ERROR(repaired.Truncate(0));
    uint64_t begin = 0;
    uint64_t end_of_repaired = 0;
    for (const TplogRange& out : report.left_out) {
      if (out.offset < begin) continue;  // A message of a block that was left out.
      TS_RETURN_IF_ERROR(CopyRange(log, begin, out.offset, repaired, end_of_repaired));
      end_of_repaired += out.offset - begin;
      begin = out.offset + out.bytes;
    }
    TS_RETURN_IF_ERROR(CopyRange(log, begin, report.found.log_bytes, repaired, end_of_repaired));
    TS_RETURN_IF_ERROR(repaired.SyncData());
  }
  TS_RETURN_IF_ERROR(RenameReplacing(new_path, to));
  report.repaired_path = to;
  TS_ASSIGN_OR_RETURN(const TplogReport repaired, CheckTplog(to));
  report.totals = repaired.totals;
  report.totals.feed_progress_known = false;
  return absl::OkStatus();
}

// Repairs a log whose page cache was lost while it was written, as the next writer would. False if
// there is other damage.
absl::StatusOr<bool> RepairPowerCut(const std::string& path, const TplogRepairOptions& repair,
                                    TplogRepairReport& report) {
  const absl::StatusOr<TplogState> state = ReadTplogState(path);
  RecoverOptions options;
  options.keep_cut = true;
  options.boot = repair.boot;
  options.mount = repair.mount ? *repair.mount : MountId(path);
  if (state.ok() && !state->MayHaveLostPages(options.boot, *options.mount)) return false;
  {
    absl::StatusOr<RecoveredTplog> recovered = RecoverTplog(path, options);
    // The index is damaged, too: it is repaired first, and then the log has no lost tail.
    if (absl::IsDataLoss(recovered.status())) return false;
    TS_RETURN_IF_ERROR(recovered.status());
    report.log_bytes_cut = recovered->recovery.log_bytes_cut;
    report.cut_path = recovered->recovery.cut_path;
    report.index_bytes_cut = recovered->recovery.index_bytes_cut;
    recovered->state.open = false;  // Everything in the files is on the disk by now.
    TS_RETURN_IF_ERROR(WriteTplogState(path, recovered->state));
  }
  TplogReport before = std::exchange(report.found, {});
  TS_ASSIGN_OR_RETURN(report.found, CheckTplog(path, repair.skip_damaged));
  if (!report.found.damaged.empty() || !report.found.odd_ranges.empty()) return false;
  report.totals = report.found.totals;
  report.found = std::move(before);
  return true;
}

absl::Status RepairInPlace(const std::string& path, TplogRepairReport& report) {
  if (report.found.Has(Kind::kIndexDamaged)) {
    TS_RETURN_IF_ERROR(CutDamagedIndex(path, report));
  }
  RecoverOptions options;
  options.keep_cut = true;
  TS_ASSIGN_OR_RETURN(RecoveredTplog recovered, RecoverTplog(path, options));
  report.log_bytes_cut = recovered.recovery.log_bytes_cut;
  report.cut_path = recovered.recovery.cut_path;
  report.index_bytes_cut += recovered.recovery.index_bytes_cut;
  report.messages_indexed = recovered.recovery.messages_indexed;
  report.totals = std::move(recovered.totals);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TplogRepairReport> RepairTplog(const std::string& path,
                                              const TplogRepairOptions& options) {
  TplogRepairReport report;
  TS_ASSIGN_OR_RETURN(report.found, CheckTplog(path, /*find_odd_ranges=*/options.skip_damaged));
  if (report.found.live) return Unavailable("{}: another process is writing it", path);
  TS_ASSIGN_OR_RETURN(const bool mended, RepairPowerCut(path, options, report));
  if (mended) return report;
  if (report.found.damaged.empty() && report.found.odd_ranges.empty()) {
    TS_RETURN_IF_ERROR(RepairInPlace(path, report));
    return report;
  }
  if (options.skip_damaged) {
    TS_RETURN_IF_ERROR(WriteWithoutDamage(path, report));
    return report;
  }
  const auto first =
      std::find_if(report.found.problems.begin(), report.found.problems.end(),
                   [](const TplogProblem& problem) { return problem.kind == Kind::kLogDamaged; });
  return DataLoss("{}; this is no torn tail: nothing was changed",
                  first == report.found.problems.end() ? path : first->text);
}

}  // namespace tickstack::tplog
