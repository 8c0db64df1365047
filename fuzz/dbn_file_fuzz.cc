// Reads any bytes as a file of DBN. It must not crash, and every record must be counted once:
// decoded, unknown or bad. Read again, the file must give the same counts.

#include <cstdint>
#include <numeric>
#include <span>
#include <string>

#include "base/check.h"
#include "feed/market/dbn/dbn_file.h"
#include "feed/market/event_testing.h"
#include "fuzz/scratch_folder.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kEventsMax = 10'000;  // Texts that are kept.

int64_t CountedRecords(const MessageCounts& counts) {
  int64_t sum = 0;
  for (const auto& by_type : {counts.decoded, counts.unknown, counts.bad}) {
    sum = std::accumulate(by_type.begin(), by_type.end(), sum);
  }
  return sum;
}

int64_t ReadDbn(DbnFile& file) {
  EventTexts events;
  int64_t records = 0;
  while (true) {
    const absl::StatusOr<bool> more = file.Advance();
    if (!more.ok() || !*more) break;
    ++records;
    file.time_ns();
    TS_CHECK(file.Decode(events).ok());
    if (events.texts.size() > kEventsMax) events.texts.clear();
  }
  TS_CHECK(CountedRecords(file.counts()) == records);
  return records;
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  const absl::StatusOr<std::unique_ptr<DbnFile>> file = DbnFile::Open(folder.Write("a", data));
  if (!file.ok()) return;
  const int64_t records = ReadDbn(**file);
  TS_CHECK((*file)->Rewind().ok());
  TS_CHECK(ReadDbn(**file) == records);
}

}  // namespace
}  // namespace tickstack::feed::market

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::feed::market::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
