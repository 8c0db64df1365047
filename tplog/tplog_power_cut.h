#pragma once

// What a power cut leaves of a log and its index, where they had not been synced:
//
//   log     |block|block|block|  zeros  |block|bl      pages that were not written are zeros or
//   index   |record|record|rec zeros                   missing, in either file, in any order
//
// The log is kept up to its last message that the index proves: the block's record is there, and
// its bytes match the checksum. What follows cannot be trusted byte for byte, and it is not known
// which feed it came from. Feeds that number their rows send it again.
//
// The kernel begins to write dirty pages after 30 s. So a block that fails its checksum, and is
// older than the newest one by more than kLostNs, was damaged in another way. It stays where it is,
// and readers report it.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/time.h"
#include "tplog/tplog_state.h"

namespace tickstack::tplog {

inline constexpr int64_t kLostNs = 120 * kNsPerSecond;

struct LostTail {
  uint64_t log_bytes = 0;         // End of the part of the log that is proven whole.
  uint64_t index_bytes = 0;       // End of the index records that prove it.
  uint64_t messages = 0;          // Number of messages in these records.
  uint64_t messages_lost = 0;     // Messages of later records, as far as these are legible.
  uint64_t messages_damaged = 0;  // Messages of older blocks that do not match their checksums.
};

// Finds what a power cut has lost. Bytes before `synced` are known to have reached the disk: if
// they differ, they are damaged, not lost. kDataLoss if the index is damaged before `synced`, in
// its header, or in a part that is too old to be lost in a power cut. Cost: reads both files once.
// Memory: one block.
absl::StatusOr<LostTail> FindLostTail(const File& log, const std::string& index_path,
                                      const TplogState::Bytes& synced);

}  // namespace tickstack::tplog
