#pragma once

// Reads a log by its grammar alone: a message ends where its value ends.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/file.h"
#include "tplog/tplog_totals.h"
#include "wire/upd.h"

namespace tickstack::tplog {

// kInvalidArgument unless the log begins with kTplogHeader.
absl::Status CheckTplogHeader(const File& log);

// Walks from message to message. Memory: one window of 1 MiB, or the longest message. Threads: one
// owner. The file must outlive it.
class TplogScanner {
 public:
  // Why there is no further message.
  enum class End {
    kClean,       // The bytes end where the last message does.
    kIncomplete,  // The bytes end before the message does.
    kInvalid,     // No bytes that could follow would make it a message.
  };

  TplogScanner(const File& log, uint64_t offset) : log_(&log), offset_(offset) {}

  // Returns the message at offset() if it is complete within the log's first `log_bytes` bytes;
  // end() tells why if not. Valid until the next call of any function here.
  //
  // An empty list is no message: nobody logs one, and zeros, which a power cut may leave, would
  // read as a run of them.
  absl::StatusOr<std::optional<std::span<const std::byte>>> Peek(uint64_t log_bytes);

  // Returns what Peek returns, and moves past it.
  absl::StatusOr<std::optional<std::span<const std::byte>>> Next(uint64_t log_bytes);

  // Move past a message of `bytes` bytes, or to any offset.
  void Skip(uint64_t bytes) { offset_ += bytes; }
  void GoTo(uint64_t offset) { offset_ = offset; }

  uint64_t offset() const { return offset_; }
  End end() const { return end_; }

 private:
  absl::StatusOr<bool> Grow(uint64_t log_bytes);

  const File* log_;
  uint64_t offset_;
  End end_ = End::kClean;
  ByteBuffer window_;
  uint64_t window_offset_ = 0;  // Log offset of the window's first byte.
};

// What are no whole message at `offset`: returns the offset of the next complete upd, so that the
// bytes before it are damaged; nullopt if there is none, so that they are a torn tail. The upd must
// begin as the first upd before `offset` does, up to its verb; without one, it may have any verb.
// Cost: reads at most the rest of the log, and the messages before its first upd.
absl::StatusOr<std::optional<uint64_t>> FindUpdAfter(const File& log, uint64_t offset,
                                                     uint64_t log_bytes);

// Counts messages, bytes, checksum and rows of a run of messages, as the index does for a block.
class BlockCounter {
 public:
  // Returns the message as an upd, valid until the next call; nullptr if it is none.
  const wire::UpdView* Add(std::span<const std::byte> body);
  void Clear();

  uint32_t messages() const { return messages_; }
  uint64_t bytes() const { return bytes_; }
  uint32_t crc() const { return crc_; }
  // Rows by table. Messages that are no upd, or whose table name exceeds kIndexNameBytesMax, have
  // none.
  const TableRows& rows() const { return rows_; }

 private:
  wire::UpdDecoder decoder_;
  wire::UpdView upd_;
  uint32_t messages_ = 0;
  uint64_t bytes_ = 0;
  uint32_t crc_ = 0;
  TableRows rows_;
};

}  // namespace tickstack::tplog
