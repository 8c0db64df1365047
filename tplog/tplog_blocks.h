#pragma once

// Reads a log block by block, as its writer appended it. A copy of the log that is made from these
// blocks has the same bytes, and an index of the same blocks. The index has the same bytes, too,
// unless a writer of this log died while it wrote: then it also has the rest of a block.
//
// Two logs that were copied from one another are compared by digests: the digest of a place depends
// on every block before it, and on the feeds' rows with which the log began.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/name_map.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_totals.h"

namespace tickstack::tplog {

// The end of a block, and the digest of everything before it.
struct LogEnd {
  uint64_t seq = 0;
  uint64_t digest = 0;
  friend bool operator==(const LogEnd&, const LogEnd&) = default;
};

// The digest of a log's index, block after block. It detects different logs; it is no protection
// against somebody who forges one.
class LogDigest {
 public:
  void Add(const IndexProgress& progress, const IndexDictionary& names);
  void Add(const IndexBlock& block, const IndexDictionary& names);
  uint64_t value() const { return value_; }

 private:
  void Mix(uint64_t value);
  uint64_t value_ = 0;
};

// Memory: a window of the index. Threads: one owner, also while a writer of the same thread appends
// to the log.
class TplogBlocks {
 public:
  // kNotFound if the log or its index does not exist; kDataLoss if the index is not one.
  static absl::StatusOr<std::unique_ptr<TplogBlocks>> Open(const std::string& log_path);

  // Returns the next block that has messages; nullopt at the end, where a later call continues if
  // the log has grown. kDataLoss if the index is damaged; kFailedPrecondition if the block was
  // indexed after the fact, so that its time and feed are not known. Cost: O(1); reads the index
  // only.
  absl::StatusOr<std::optional<IndexBlock>> Next();
  // Returns the bytes of a block that Next returned. kDataLoss if they do not match its checksum.
  absl::StatusOr<ByteBuffer> BytesOf(const IndexBlock& block) const;

  // The place after the last block that Next returned.
  LogEnd end() const { return {seq_, digest_.value()}; }
  uint64_t index_offset() const { return index_offset_; }
  uint64_t log_offset() const { return log_offset_; }
  const IndexDictionary& names() const { return index_.names(); }
  // Rows by feed that the log began with.
  const NameMap<TableRows>& carried() const { return carried_; }

 private:
  TplogBlocks(File log, TplogIndexReader index);
  absl::Status ReadCarried();

  File log_;
  TplogIndexReader index_;
  LogDigest digest_;
  NameMap<TableRows> carried_;
  uint64_t seq_ = 0;
  uint64_t log_offset_;
  uint64_t index_offset_;
};

// Cuts a log that no writer has open after message `seq`, where a block must end, and its index.
// Returns the file, beside the log, that has the bytes which were cut off; empty if none were.
// kUnavailable: a writer has the log. kInvalidArgument: no block ends there. Cost: reads the index.
absl::StatusOr<std::string> CutTplog(const std::string& log_path, uint64_t seq);

}  // namespace tickstack::tplog
