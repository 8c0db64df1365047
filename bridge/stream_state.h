#pragma once

// How far a tickerplant's rows have been written to Kafka. Each transaction writes rows and, as a
// record of the topic PREFIX.positions, the state after them. So whatever was killed, the last
// committed record says where to resume.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/name_map.h"
#include "tplog/log_identity.h"
#include "tplog/position.h"

namespace tickstack::bridge {

struct StreamState {
  struct Table {
    int64_t rows_of_log = 0;  // Rows of the log that are written, from its first row on.
    // By partition: number of the next row. Rows are counted from the first one ever written, over
    // all logs.
    std::vector<int64_t> next_row;
    friend bool operator==(const Table&, const Table&) = default;
  };

  std::string writer;  // Identifies the process that wrote it.
  int64_t batch = 0;   // Number of the transaction.
  tplog::LogIdentity log;
  // A message of the log whose rows are written, to recognise the log by.
  std::optional<tplog::KnownMessage> known;
  // True if all rows of the log are written, so the position is the beginning of the next log.
  bool log_ended = false;
  tplog::Position position;
  NameMap<Table> tables;
};

void SaveState(const StreamState& state, ByteBuffer& record);
// kDataLoss if the bytes are not what SaveState, or that of version 1, wrote.
absl::StatusOr<StreamState> LoadState(std::span<const std::byte> record);

}  // namespace tickstack::bridge
