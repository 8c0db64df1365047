#pragma once

// Sends prebuilt messages of rows: as fast as they are taken, or each row when it is due.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/byte_buffer.h"
#include "bench/loopback.h"

namespace tickstack::bench {

inline constexpr size_t kBatchRows = 2400;
inline constexpr int kPacedRowsPerSecond = 48'000;

// Returns the bytes of rows, index and log that `seconds` of rows at full speed produce in a
// tickerplant and an rdb.
inline size_t PathBytesOf(double seconds) { return static_cast<size_t>(seconds * 9e6 * 120); }

struct Sent {
  uint64_t rows = 0;
  uint64_t bytes = 0;
  int64_t start_ns = 0;
};

// Sends the messages in turn for `seconds`. Combines small messages into writes of 64 KiB, as a
// feed does. Calls `before_write` with the rows sent so far.
Sent SendFor(
    Peer& feed, const std::vector<ByteBuffer>& upds, size_t rows_each, double seconds,
    const std::function<void(uint64_t)>& before_write = [](uint64_t) {});

// Sends the rows of `upds`, which have one row each, at kPacedRowsPerSecond. Sends each row when it
// is due, with that time; rows that became due while this thread slept are sent in one write.
void SendPaced(Peer& feed, const std::vector<ByteBuffer>& upds, double seconds);

}  // namespace tickstack::bench
