#pragma once

// Records in one order, each with an offset, that several processes append to and read: a topic of
// Kafka with one partition (kafka_topic.h), or a test's.
//
// A record that is appended has its place in the order for good, and the process that appends it is
// told the offset. Records of one process get ascending offsets, in the order in which it appended
// them, with records of others between them.
//
// Threads: the loop's. Events come from the loop.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"

namespace tickstack::kafka {

class RecordTopic {
 public:
  static constexpr int64_t kOldest = -1;

  struct Events {
    // The topic is there. Its identity differs from that of a topic of this name elsewhere.
    std::function<void(std::string identity)> opened;
    // There are records to take, or the end of the topic was reached.
    std::function<void()> readable;
    // The oldest record whose append has no answer yet has this offset. An error is final: it, and
    // later ones, may or may not be in the topic.
    std::function<void(absl::StatusOr<int64_t> offset)> appended;
    // The topic cannot be used: a setting is wrong, it has another form, or `may_create` says no.
    std::function<void(absl::Status)> failed;
    // Asked before a topic that does not exist is created; an error keeps it from being created.
    // Called on a thread of the topic's. Null: it may be created.
    std::function<absl::Status(const std::string& identity)> may_create = nullptr;
  };

  // Brokers take no larger records unless they are set up for it.
  static constexpr size_t kRecordBytesMax = 1'000'000;

  virtual ~RecordTopic() = default;

  // Appends a record, however long the topic cannot be reached. Cost: copies it.
  virtual void Append(std::span<const std::byte> record) = 0;
  // Reads records from this offset on; drops those that were not taken. kOldest: from the oldest.
  virtual void Read(int64_t from) = 0;
  virtual void StopReading() = 0;
  // Waits until what was appended is in the topic, for at most a second. Blocks.
  virtual void Flush() = 0;

  struct Taken {
    int64_t offset = 0;
    ByteBuffer record;
    bool is_damaged = false;  // True if it is known not to be what was appended.
  };
  // Returns the next record; nullopt if there is none now. kDataLoss if the record to read from is
  // not there any more, or is not the next one that will be there.
  virtual absl::StatusOr<std::optional<Taken>> Take() = 0;
  // True if all records were taken that the topic had when it was asked last.
  virtual bool at_end() const = 0;
  // The offset of the oldest record, if `Read(kOldest)` has found it.
  virtual std::optional<int64_t> oldest() const = 0;
  // Why the topic does not answer at the moment; OK if it does.
  virtual absl::Status problem() const = 0;
};

}  // namespace tickstack::kafka
