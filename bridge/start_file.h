#pragma once

// Where a from-kafka bridge began with each partition, and how far it has come: a small text file.
//
//   cluster ID
//   shard NAME MAP                                                only in a stack with shards
//   TOPIC PARTITION START BASE NEXT_OFFSET NEXT_ROW [NEXT_NUMBER]
//
// BASE is the number of the first row that it read, `-` before it has read one. It is a part of the
// name under which the tickerplant counts the partition's rows, so it must not change. NEXT_OFFSET
// and NEXT_ROW only save reading again what the tickerplant has: its own count decides. With
// shards, NEXT_NUMBER counts the shard's rows from BASE up to NEXT_ROW.
//
// Threads: one owner.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "table/shard_id.h"

namespace tickstack::bridge {

struct PartitionStart {
  int64_t start = 0;            // Offset.
  std::optional<int64_t> base;  // Row.
  int64_t next_offset = 0;
  int64_t next_row = 0;
  int64_t next_number = 0;
  friend bool operator==(const PartitionStart&, const PartitionStart&) = default;
};

struct StartFile {
  std::string cluster;
  ShardId shard;
  std::map<std::pair<std::string, int32_t>, PartitionStart> partitions;  // By topic and number.

  // Returns an empty one if there is no such file. kDataLoss, with the line, if it is damaged.
  static absl::StatusOr<StartFile> Load(const std::string& path);
  // Replaces the file durably. Errors: those of base/file.h.
  absl::Status Save(const std::string& path) const;
};

}  // namespace tickstack::bridge
