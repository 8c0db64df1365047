#pragma once

// The records of a log in a topic (kafka/record_topic.h). Several tickerplants append to the topic,
// and each one decides in the same way which records count (topic_state.h).
//
//   (`claim; after; name; address; instance; shard)              I lead, if this follows `after`
//   (`part; epoch; date; seq; messages; part; parts; bytes)      a part of a block of the log
//   (`nextday; epoch; date; seq; after; next; feeds; tables; rows)   the day `next` begins
//   (`tables; epoch; text)                                       the leader's tables
//   (`alive; epoch; instance)                                    the leader works
//   (`resign; epoch; instance)                                   the leader ends
//
// A block is the message `.u.block` (replication_messages.h). It is cut into parts because brokers
// limit the size of a record. Each record is a message of kdb+'s IPC.
//
// Threads: reentrant.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/name_map.h"
#include "table/shard_id.h"
#include "table/value.h"
#include "tickerplant/standby/replication_messages.h"
#include "tplog/tplog_totals.h"

namespace tickstack::tickerplant {

struct TopicRecord {
  enum class Kind : uint8_t { kClaim, kPart, kNextDay, kTables, kAlive, kResign };
  static constexpr size_t kPartBytesMax = size_t{900} << 10;

  Kind kind = Kind::kAlive;
  uint64_t epoch = 0;  // 1 + the offset of the leader's claim. Not of a claim.
  // In a claim and in a next day: the offset before its own, if nobody appended meanwhile.
  int64_t after = -1;
  // `after` of a next day without the feeds' rows, which were too many for a record. Nobody can
  // begin to read with it.
  static constexpr int64_t kWithoutRows = -2;
  // A claim has these.
  std::string name = {};
  std::string address = {};
  uint64_t instance = 0;  // Differs between processes. An alive and a resign have it, too.
  ShardId shard = {};
  // In a part: where its block begins. In a next day: where the day before ends. If the topic has
  // none, its date is null, and seq the number of messages that the log of `next` has already: they
  // follow.
  ReplicaPlace place = {};
  // A part has these.
  uint32_t messages = 0;  // The number of the whole block's messages.
  uint32_t part = 0;
  uint32_t parts = 1;
  std::span<const std::byte> bytes = {};  // Valid, once parsed, as long as `body`.
  // A next day has these.
  int32_t next = 0;
  NameMap<tplog::TableRows> carried = {};

  std::string tables = {};  // In a tables record: see tables_text.h.

  uint32_t crc = 0;  // CRC-32C of the record's bytes, once it was parsed or encoded.
  Value body = {};   // What was parsed.
};

// Sets the record's crc. Cost: copies the bytes once, and reads them.
ByteBuffer EncodeTopicRecord(TopicRecord& record);
// kInvalidArgument unless the bytes are one of the messages above.
absl::StatusOr<TopicRecord> ParseTopicRecord(std::span<const std::byte> record);

}  // namespace tickstack::tickerplant
