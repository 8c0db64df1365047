#include "bench/row_sender.h"

#include <time.h>

#include <cstring>
#include <utility>

#include "base/time.h"

namespace tickstack::bench {

Sent SendFor(Peer& feed, const std::vector<ByteBuffer>& upds, size_t rows_each, double seconds,
             const std::function<void(uint64_t)>& before_write) {
  ByteBuffer joined;
  std::vector<ByteBuffer> writes;
  size_t rows = 0;
  std::vector<size_t> rows_of;
  for (const ByteBuffer& upd : upds) {
    joined.Append(upd.span());
    rows += rows_each;
    if (joined.size() < (size_t{64} << 10) && &upd != &upds.back()) continue;
    writes.push_back(std::exchange(joined, ByteBuffer()));
    rows_of.push_back(std::exchange(rows, 0));
  }
  Sent sent;
  sent.start_ns = MonotonicNs();
  const auto until = sent.start_ns + static_cast<int64_t>(seconds * 1e9);
  for (size_t i = 0; MonotonicNs() < until; i = (i + 1) % writes.size()) {
    before_write(sent.rows);
    feed.Send(writes[i]);
    sent.rows += rows_of[i];
    sent.bytes += writes[i].size();
  }
  return sent;
}

void SendPaced(Peer& feed, const std::vector<ByteBuffer>& upds, double seconds) {
  const auto total = static_cast<int64_t>(seconds * kPacedRowsPerSecond);
  const SystemClock& clock = SystemClock::Instance();
  const int64_t start_ns = clock.NowNs();
  const auto due = [&](int64_t row) { return start_ns + row * kNsPerSecond / kPacedRowsPerSecond; };
  ByteBuffer write;
  for (int64_t row = 0; row < total;) {
    const int64_t now_ns = clock.NowNs();
    if (due(row) > now_ns) {
      const timespec pause{0, due(row) - now_ns};
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
      continue;
    }
    write.clear();
    for (; row < total && due(row) <= now_ns && write.size() < 60'000; ++row) {
      const ByteBuffer& upd = upds[static_cast<size_t>(row) % upds.size()];
      std::byte* at = write.Extend(upd.size());
      std::memcpy(at, upd.data(), upd.size());
      const int64_t due_ns = due(row);
      std::memcpy(at + OffsetOfTime(upd), &due_ns, sizeof due_ns);
    }
    feed.Send(write);
  }
}

}  // namespace tickstack::bench
