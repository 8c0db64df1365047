#pragma once

// The messages between a leading tickerplant and its standbys.
//
//   standby                                          leader
//   .u.replicate[name; epoch; date; seqs; digests; shard; clock; tables] -->
//              <-- (epoch; date; seq; carried rows by feed)    continue after this message
//              <-- (`.u.block; epoch; date; seq; time; feed; tables; rows; messages; crc; bytes)
//   (`.u.acked; epoch; date; seq; clock) -->
//              <-- (`.u.nextday; epoch; date; next)            end the day, begin the day `next`
//   (`.u.acked; epoch; next; 0; clock) -->
//              <-- (`.u.acked; epoch; date; seq)               the leader's log; every 100 ms
//
// docs/protocol.md specifies them. A message that does not have its form is an error with the
// message's name, never a failed check: a peer may send anything.
//
// Threads: reentrant.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/name_map.h"
#include "table/shard_id.h"
#include "table/value.h"
#include "tplog/tplog_blocks.h"
#include "tplog/tplog_totals.h"
#include "tplog/tplog_writer.h"

namespace tickstack::tickerplant {

// A place in the logs of all days: after the first `seq` messages of a day.
struct ReplicaPlace {
  int32_t date = 0;
  uint64_t seq = 0;
  friend auto operator<=>(const ReplicaPlace&, const ReplicaPlace&) = default;
};

// A block as it is sent. The texts and bytes are those of the message that it was parsed from.
struct ReplicaBlock {
  uint64_t epoch = 0;
  ReplicaPlace at;  // Where the block begins.
  int64_t time_ns = 0;
  std::string feed;
  std::vector<std::string> tables;
  std::vector<uint32_t> rows;  // By table of `tables`.
  uint32_t messages = 0;
  uint32_t crc = 0;
  std::span<const std::byte> bytes;
};

// Returns the framed message of a block, which begins at `at`. kResourceExhausted if the block has
// more than kReplicaBlockBytesMax bytes. Cost: copies the bytes once, and reads them for the
// checksum.
inline constexpr size_t kReplicaBlockBytesMax = size_t{1} << 30;
absl::StatusOr<ByteBuffer> EncodeReplicaBlock(uint64_t epoch, ReplicaPlace at,
                                              const tplog::TplogBlock& block);
// Returns the message of a block of a log, which `blocks` has returned. Errors: those of BytesOf
// and of EncodeReplicaBlock. Cost: reads the block.
absl::StatusOr<ByteBuffer> EncodeLoggedBlock(uint64_t epoch, int32_t date,
                                             const tplog::TplogBlocks& blocks,
                                             const tplog::IndexBlock& block);
// Parses a block; `message` must outlive it. kInvalidArgument unless it has the form above;
// kDataLoss if its bytes do not match the checksum or are not `messages` whole values.
absl::StatusOr<ReplicaBlock> ParseReplicaBlock(const Value& message);

struct ReplicaNextDay {
  uint64_t epoch = 0;
  int32_t date = 0;
  int32_t next = 0;
};
ByteBuffer EncodeNextDay(const ReplicaNextDay& day);
absl::StatusOr<ReplicaNextDay> ParseNextDay(const Value& message);

struct ReplicaAck {
  uint64_t epoch = 0;
  ReplicaPlace place;
  // What the standby's clock says, ns since 2000. Not in the leader's messages.
  std::optional<int64_t> clock_ns = std::nullopt;
};
Value AckMessage(const ReplicaAck& ack);
// `args` are the items after the verb.
absl::StatusOr<ReplicaAck> ParseAck(std::span<const Value> args);

// What a standby says of itself.
struct ReplicaRequest {
  std::string name;
  uint64_t epoch = 0;
  int32_t date = 0;                 // Its newest day; kNullInt: it has no log.
  std::vector<tplog::LogEnd> ends;  // In that day's log, ascending: candidates for the place.
  ShardId shard = {};               // Not sent without shards.
  // What its clock says, ns since 2000. A leader of an earlier version refuses it, as one argument
  // too many.
  std::optional<int64_t> clock_ns = std::nullopt;
  // Its tables: see tables_text.h. Empty: not sent, because the leader is of an earlier version.
  std::string tables = {};
};
inline constexpr size_t kReplicaEndsMax = 1024;
inline constexpr size_t kReplicaNameBytesMax = 256;
Value RequestMessage(const ReplicaRequest& request);
absl::StatusOr<ReplicaRequest> ParseRequest(std::span<const Value> args);

// Where the leader continues.
struct ReplicaStart {
  uint64_t epoch = 0;
  ReplicaPlace place;
  NameMap<tplog::TableRows> carried;  // The rows by feed with which the day's log begins.
};
Value StartAnswer(const ReplicaStart& start);
absl::StatusOr<ReplicaStart> ParseStart(const Value& answer);

// True for `.u.replica[]`, as a string or as a list: the only query that a member answers although
// it does not serve clients.
bool AsksForReplica(const Value& request);

}  // namespace tickstack::tickerplant
