#pragma once

// Keeps rows of a live feed in files until the tickerplant has logged them. Packets cannot be asked
// for again, so without it a killed feed could not send the rows that it had numbered.
//
//   id            identifies the spool; a new one numbers its rows anew
//   rows.000007   records, in order; each is complete, or the last one
//   rows.000008   a file is removed when all its rows are logged
//
//   record  body bytes u32 | CRC32C of the body u32 | body
//   body    tables u32,  each: name, number of its next row i64
//           streams u32, each: channel, session, next sequence number u64, times i64: of receipt of
//                              the first message, of sending of the last, of receipt of the last
//           batches u32, each: table, first row i64, rows i64, due time i64, bytes
//
// Numbers are little-endian; a text or bytes begin with their length, u32. A record says which rows
// and which sequence numbers belong together: rows up to a record are those of the messages up to
// its positions. The first record of a file has all tables and streams, others what changed.
//
// It survives the end of the process, and not that of the machine: files are not synced.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/name_map.h"
#include "feed/market/arbiter.h"

namespace tickstack::feed::live {

// Rows of one table as they are sent.
struct SpoolBatch {
  std::string table;
  int64_t first_row = 0;  // Number of its first row among all rows of the table.
  int64_t rows = 0;
  int64_t due_ns = 0;  // When its last row was due.
  ByteBuffer data;
  uint64_t file = 0;  // Number of the file that has it.
};

// Threads: one owner. Memory: what TakeBatches returns, and a record.
class RowSpool {
 public:
  static constexpr uint64_t kFileBytes = uint64_t{16} << 20;  // From here on, a new file begins.

  // Opens the spool of a directory, or creates it. Waits up to kLockWaitAtStart for a process that
  // has it. kDataLoss, with file, byte and reason, if a file is damaged: an incomplete record at
  // the end of the last file is none, since its rows were not sent.
  static absl::StatusOr<std::unique_ptr<RowSpool>> Open(std::string directory);

  const std::string& id() const { return id_; }
  const std::string& directory() const { return directory_; }
  // Number of the next row of each table.
  const NameMap<int64_t>& next_rows() const { return next_rows_; }
  std::vector<market::StreamPosition> Positions() const;
  // Returns, once, the batches that it had when it was opened, in order. Some may be logged.
  std::deque<SpoolBatch> TakeBatches() { return std::move(batches_); }

  // Writes a record, and sets `file` of each batch. After an error nothing more is written, since
  // the file may end with a part of a record: further calls return the error.
  absl::Status Append(std::span<const market::StreamPosition> positions,
                      std::span<SpoolBatch> batches);
  // Removes the files before this one: all their rows are logged.
  absl::Status RemoveBefore(uint64_t file);
  uint64_t file() const { return file_number_; }  // The file that is being written.

 private:
  using Streams = std::map<std::pair<std::string, std::string>, market::StreamPosition>;

  explicit RowSpool(std::string directory) : directory_(std::move(directory)) {}
  absl::Status Load();
  absl::Status LoadId();
  absl::Status LoadFile(uint64_t number, bool is_last);
  bool LoadRecord(std::span<const std::byte> body, uint64_t number);
  void Note(const market::StreamPosition& position);
  absl::Status BeginFile();
  absl::Status Write(std::span<const market::StreamPosition> positions,
                     std::span<SpoolBatch> batches);
  std::string PathOf(uint64_t number) const;

  const std::string directory_;
  std::string id_;
  File lock_;
  File file_;
  uint64_t first_file_ = 1;  // The oldest one that is there.
  uint64_t file_number_ = 0;
  uint64_t file_bytes_ = 0;
  NameMap<int64_t> next_rows_;
  Streams streams_;
  std::deque<SpoolBatch> batches_;
  ByteBuffer record_;
  absl::Status error_;  // Why the last record was not written.
};

}  // namespace tickstack::feed::live
