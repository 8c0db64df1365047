#pragma once

// What a writer does before it writes: the log and its index as the last writer left them, mended.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/machine.h"
#include "wire/tplog_index.h"
#include "wire/tplog_scanner.h"
#include "wire/tplog_state.h"
#include "wire/tplog_totals.h"
#include "wire/tplog_writer.h"

namespace tickstack::wire {

// A log and an index that agree to the last byte, open for appending; the log is locked.
struct RecoveredTplog {
  File log;
  File index;
  uint64_t index_bytes = 0;
  IndexDictionary names;
  TplogTotals totals;
  TplogRecovery recovery;
  TplogState state;  // As found, and with the power cut that this recovery found.
};

struct RecoverOptions {
  StringMap<TableRows> carried_progress;  // As in TplogOptions.
  // Keep what is cut off the log, in FILE.cut-OFFSET.
  bool keep_cut = false;
  std::string boot = BootId();
};

// See TplogWriter::Open, whose contract this is.
absl::StatusOr<RecoveredTplog> RecoverTplog(const std::string& path, const RecoverOptions& options);

// Whether the messages where a block should be, which is not whole, can be its first ones. They are
// somebody else's if they are all of its messages in less than its bytes, or of other tables: then
// the writer died before the first of them, and a program that does not know of the index went on.
bool IsTornPartOf(const IndexBlock& block, const IndexDictionary& names,
                  const BlockCounter& counted);

// Where what was cut off a log, or an index, at `offset` is kept: a path that is not in use.
std::string CutPath(const std::string& path, uint64_t offset);

// Copies bytes from `begin` to `end` to another place.
absl::Status CopyRange(const File& from, uint64_t begin, uint64_t end, File& to,
                       uint64_t to_offset);

// Copies them into a file of their own, and syncs it.
absl::Status CopyBytes(const File& from, uint64_t begin, uint64_t end, const std::string& to);

// The checksum of a part of the log; 1 MiB of memory. kDataLoss if the log ends before.
absl::StatusOr<uint32_t> Crc32cOfFile(const File& file, uint64_t offset, uint64_t bytes);

// A number for a table or feed; appends a name record to `out` if it is a new one.
uint32_t NumberOf(NameKind kind, std::string_view name, IndexDictionary& names, ByteBuffer& out);

}  // namespace tickstack::wire
