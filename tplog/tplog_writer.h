#pragma once

// Appends to the tickerplant log, which kdb+ replays with -11!, and to its sidecar index. The index
// adds what a kdb+ log lacks: proof that the bytes are those that were written, seeking, and the
// number of rows logged for each feed, so that a feed can resume exactly.
//
// The index is written ahead: the record of a block is in the index before the block's bytes are in
// the log. So whenever the writer dies, each byte that is in the log is covered by a record, which
// tells its source. What Open may find at the tail:
//
//   log    ...block 7|block 8|blo            the write of block 9 was cut short
//   index  ...record 7, record 8, record 9
//
// Open keeps the complete messages of block 9, which were logged although not acknowledged,
// replaces record 9 by one that says so, and cuts off the torn message.
//
// That holds for a killed process. After a power cut, either file may lack whatever was not synced.
// Open then keeps what tplog_power_cut.h describes, sets the rest aside, and starts.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/machine.h"
#include "base/name_map.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_place.h"
#include "tplog/tplog_state.h"
#include "tplog/tplog_totals.h"

namespace tickstack::tplog {

enum class FsyncPolicy {
  kNone,      // The kernel decides: a killed process loses nothing, a power cut may.
  kInterval,  // A thread syncs every fsync_interval_ms; appending never waits.
  kBatch,     // Append returns when log and index are durable.
};

// Where a block is in the log.
struct BlockPlace {
  uint64_t offset = 0;
  uint64_t first_seq = 0;
  uint32_t messages = 0;
  uint32_t bytes = 0;
  uint32_t crc = 0;
  friend bool operator==(const BlockPlace&, const BlockPlace&) = default;
};
BlockPlace PlaceOf(const IndexBlock& block);

// Describes what Open found and did.
struct TplogRecovery {
  // For each table with rows in the log, the last block that has some of them.
  NameMap<BlockPlace> last_blocks;
  bool created = false;              // There was no log.
  bool index_created = false;        // There was no index: the whole log was read and indexed.
  uint64_t messages_indexed = 0;     // Messages that only this Open indexed.
  uint64_t log_bytes_cut = 0;        // Torn tail of the log.
  uint64_t index_bytes_cut = 0;      // Records of messages that never reached the log.
  uint64_t messages_not_logged = 0;  // Messages of those records.
  // True if the machine rebooted while a writer had the log open, or its file system was mounted
  // again: every block was compared with its checksum, and the log was cut after the last message
  // that the index proves.
  bool power_cut = false;
  // True if a sync of the last writer failed: the log was compared and cut in the same way, and
  // what was not known to be on the disk was written again.
  bool sync_failed = false;
  uint64_t log_bytes_written_again = 0;
  // After a power cut or a failed sync: messages of older blocks that do not match. They are kept.
  uint64_t messages_damaged = 0;
  std::string cut_path;  // File with the bytes that were cut off the log; empty if none.
};

struct TplogOptions {
  FsyncPolicy fsync = FsyncPolicy::kNone;
  int fsync_interval_ms = 100;
  // Bytes of the log's end to keep in the page cache for subscribers that reconnect; the rest is
  // written out and dropped (base/write_behind.h).
  uint64_t cache_bytes = uint64_t{256} << 20;
  // The feed_rows of the previous day's log, with which the counts of a new log begin. Used only if
  // the log has no messages.
  NameMap<TableRows> carried_progress;
  std::string boot = BootId();  // The current boot of the machine: see tplog_state.h.
  std::optional<std::string> mount = std::nullopt;  // nullopt: MountId of the log.
  // Time to wait for a writer that still has the log, such as one that was just killed.
  std::chrono::nanoseconds lock_wait{0};
  // Called by Open with what it found and did, before it records that the log is repaired. If the
  // process dies meanwhile, the next Open finds the power cut or the failed sync again. An error
  // ends Open.
  std::function<absl::Status(const TplogRecovery&)> repaired = nullptr;
};

// Messages that one write appends: as a rule, those of one read of one connection.
struct TplogBlock {
  // Complete message bodies, back to back in the concatenated segments. They are written in place;
  // few large segments are cheaper than many small ones.
  std::span<const std::span<const std::byte>> segments;
  uint32_t messages = 0;
  int64_t time_ns = 0;    // Time of arrival, ns since 2000.
  std::string_view feed;  // The feed that numbered the rows of all messages; empty: none.

  struct Rows {
    std::string_view table;
    uint32_t rows;
  };
  std::span<const Rows> rows;  // Row counts by table; each table once.
};

// Threads: one owner. The threads that sync and write behind belong to the writer.
class TplogWriter {
 public:
  // Creates the log (and its directory), or opens it, repairs its tail and appends to it.
  //
  // kUnavailable: another writer has it. kInvalidArgument: not a log. kDataLoss: the log disagrees
  // with its index, or messages follow one that does not parse, so that cutting it off would lose
  // them; nothing is changed then, and `tickstack log check` has the details. Only the last block
  // is compared with its checksum here; `tickstack log check` does so for the whole log.
  //
  // Cost: reads the index, and the part of the log that the index does not cover; after a power
  // cut, both files once.
  static absl::StatusOr<std::unique_ptr<TplogWriter>> Open(std::string path, TplogOptions options);

  ~TplogWriter();  // Closes the log and ignores errors.

  // Appends a block: first its record, then its messages, with one system call each. After an error
  // neither is in the files (kResourceExhausted: the disk is full, so the same block may be tried
  // again). The exception is kFailedPrecondition: the log is closed, and the message says why: a
  // failed sync, a write that the disk refused later (the kernel may have dropped the data), or a
  // tail that could not be cut off again.
  // kInvalidArgument: no messages, no bytes, 4 GiB or more, or too many tables.
  // Cost: O(segments + tables) and the checksum, which reads the bytes once.
  absl::Status Append(const TplogBlock& block);

  // Returns the error that Append would return because the log is closed; OK while it is open.
  // Notices a failed sync although nothing is appended.
  absl::Status status() const;

  // Makes all appended blocks durable. kFailedPrecondition, as Append, if this or an earlier sync
  // failed.
  absl::Status Sync();

  // Syncs unless the policy is kNone, and closes. Idempotent; Append fails afterwards.
  absl::Status Close();

  // Syncs, whatever the policy, closes, and records that the log was closed. Idempotent. Cost: as
  // long as the disk takes to write what it does not have yet.
  absl::Status CloseDurably();

  // Records that the log's day has ended or, with false, that it continues. Durable when it
  // returns.
  absl::Status SetEnded(bool ended);

  // Where the next message will begin: a reader can start there without reading the log before it.
  // Cost: O(tables + feeds).
  TplogPlace End() const;

  const std::string& path() const;
  const TplogState& state() const;
  const TplogTotals& totals() const;
  const TplogRecovery& recovery() const;

 private:
  class State;
  explicit TplogWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tickstack::tplog
