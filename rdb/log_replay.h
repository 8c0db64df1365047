#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rdb/rdb.h"
#include "wire/tplog_reader.h"

namespace tickstack::rdb {

// Replays a tickerplant log into an Rdb, from where the Rdb stands, a slice of time after the
// other, so that the thread can do other things between them. Threads: the ingest thread.
class LogReplay {
 public:
  // Errors as TplogReader::Open.
  static absl::StatusOr<std::unique_ptr<LogReplay>> Open(const std::string& path);

  enum class Progress : uint8_t { kMore, kReached, kLogEnds };

  // Applies messages until the Rdb stands at `end_seq` (kReached), the log has no more (kLogEnds)
  // or the time is over (kMore). kDataLoss, naming the offset, at damage.
  absl::StatusOr<Progress> Step(Rdb& rdb, uint64_t end_seq, std::chrono::nanoseconds at_most);

  // Reads message `seq` aside; empty if there is none.
  absl::StatusOr<ByteBuffer> ReadMessage(uint64_t seq);
  uint64_t torn_bytes() const { return reader_->torn_bytes(); }

 private:
  explicit LogReplay(std::unique_ptr<wire::TplogReader> reader) : reader_(std::move(reader)) {}
  std::unique_ptr<wire::TplogReader> reader_;
};

// The same for a part of a log that came over the wire: whole messages back to back. kDataLoss if
// they are not.
absl::Status ReplayBytes(std::span<const std::byte> messages, Rdb& rdb, uint64_t end_seq);

}  // namespace tickstack::rdb
