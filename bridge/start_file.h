#pragma once

// Where a from-kafka bridge began with each partition, and how far it has come: a small text file.
//
//   cluster ID
//   map NUMBER SHARD DIGEST              only if rows of the prefix were read under a map of shards
//   TOPIC PARTITION START BASE OFFSET ROW COUNT OFFSET ROW COUNT
//
// BASE is the number of the first row that it read, `-` before it has read one. It is a part of the
// name under which the tickerplant counts the partition's rows, so it must not change.
//
// OFFSET ROW COUNT is a place: the next record, its first row, and how many rows of the bridge's
// shard are before it, from BASE on. Places only save reading again what the tickerplant has: its
// own count decides. The first place is the newest. The second one is older, for a tickerplant that
// has lost rows in a power cut.
//
// Threads: one owner.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "table/shard_id.h"

namespace tickstack::bridge {

struct Place {
  int64_t offset = 0;
  int64_t row = 0;  // 0: there is no place yet.
  int64_t count = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

struct PartitionStart {
  int64_t start = 0;            // Offset.
  std::optional<int64_t> base;  // Row.
  Place newest = {}, older = {};
  Place next_older = {};  // Becomes `older`; not in the file.
  friend bool operator==(const PartitionStart&, const PartitionStart&) = default;
};

struct StartFile {
  std::string cluster;
  int64_t map_number = 0;  // Maps of shards under which the prefix was read before.
  ShardId shard;
  std::map<std::pair<std::string, int32_t>, PartitionStart> partitions;  // By topic and number.

  // Returns an empty one if there is no such file. kDataLoss, with the line, if it is damaged.
  static absl::StatusOr<StartFile> Load(const std::string& path);
  // Replaces the file durably. Errors: those of base/file.h.
  absl::Status Save(const std::string& path) const;

  // Makes sure that no row is published twice because the map of shards has changed, and sets
  // `shard` and `map_number`. The other start files in the directory of `path` say under which maps
  // topics of the prefix were read. kFailedPrecondition, with the file, if
  //   - this file is about another shard or map;
  //   - another map was used after this one, so this file does not know which rows were published;
  //   - this file is empty, another map was used, and `says_where` is false: it would begin with
  //     rows that were published under that map.
  // Other errors are those of Load.
  absl::Status EnterMap(const std::string& path, std::string_view prefix, const ShardId& own,
                        bool says_where);
};

}  // namespace tickstack::bridge
