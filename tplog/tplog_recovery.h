#pragma once

// Prepares a log for a writer: repairs the log and the index that the previous writer left.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/machine.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_scanner.h"
#include "tplog/tplog_state.h"
#include "tplog/tplog_totals.h"
#include "tplog/tplog_writer.h"

namespace tickstack::tplog {

// A log and an index that agree to the last byte, open for appending; the log is locked.
struct RecoveredTplog {
  File log;
  File index;
  uint64_t index_bytes = 0;
  IndexDictionary names;
  TplogTotals totals;
  TplogRecovery recovery;
  TplogState state;   // As it was found, plus the power cut if this recovery detected one.
  std::string mount;  // The mount of the log's file system.
};

struct RecoverOptions {
  NameMap<TableRows> carried_progress;  // As in TplogOptions.
  // True: keeps bytes that are cut off the log in FILE.cut-OFFSET.
  bool keep_cut = false;
  std::string boot = BootId();
  std::optional<std::string> mount = std::nullopt;  // nullopt: MountId of the log.
  std::chrono::nanoseconds lock_wait{0};            // As in TplogOptions.
};

// Recovers a log. The comment of TplogWriter::Open describes the result and the errors.
absl::StatusOr<RecoveredTplog> RecoverTplog(const std::string& path, const RecoverOptions& options);

// `block` is a record of the index, and the log has only a part of the block's bytes. `counted` are
// the messages in that part. Returns true if they can be the block's first messages. Returns false
// if the part has all of the block's messages in fewer bytes, or tables that the block does not
// have. In that case the writer died before it wrote the block, and a program that does not know
// the index continued the log.
bool IsTornPartOf(const IndexBlock& block, const IndexDictionary& names,
                  const BlockCounter& counted);

// Returns an unused path for the bytes that are cut off a log, or an index, at `offset`.
absl::StatusOr<std::string> CutPath(const std::string& path, uint64_t offset);

// Copies the bytes from `begin` to `end` to another place.
absl::Status CopyRange(const File& from, uint64_t begin, uint64_t end, File& to,
                       uint64_t to_offset);

// Copies the bytes into a new file, and syncs it.
absl::Status CopyBytes(const File& from, uint64_t begin, uint64_t end, const std::string& to);

// Returns the checksum of `bytes` bytes of the log from `offset` on, using 1 MiB of memory.
// kDataLoss if the log ends before that.
absl::StatusOr<uint32_t> Crc32cOfFile(const File& file, uint64_t offset, uint64_t bytes);

// Returns the number of a table or feed; appends a name record to `out` if it is new.
uint32_t NumberOf(NameKind kind, std::string_view name, IndexDictionary& names, ByteBuffer& out);

}  // namespace tickstack::tplog
