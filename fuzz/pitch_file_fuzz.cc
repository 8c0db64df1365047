// Reads any bytes as a file of TCP PITCH. It must not crash, and every line must be counted once:
// decoded, unknown or bad. Read again, the file must give the same counts.

#include <cstdint>
#include <numeric>
#include <span>
#include <string>

#include "base/check.h"
#include "feed/market/event_testing.h"
#include "feed/market/pitch/pitch_file.h"
#include "fuzz/scratch_folder.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kTextsMax = 10'000;  // Texts that are kept.

int64_t CountedLines(const MessageCounts& counts) {
  int64_t sum = 0;
  for (const auto& by_type : {counts.decoded, counts.unknown, counts.bad}) {
    sum = std::accumulate(by_type.begin(), by_type.end(), sum);
  }
  return sum;
}

int64_t ReadPitch(PitchFile& file) {
  EventTexts events;
  int64_t lines = 0;
  while (true) {
    const absl::StatusOr<bool> more = file.Advance();
    if (!more.ok() || !*more) break;
    ++lines;
    if (!file.Decode(events).ok()) break;
    if (events.texts.size() > kTextsMax) events.texts.clear();
  }
  TS_CHECK(CountedLines(file.counts()) == lines);
  return lines;
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  const absl::StatusOr<std::unique_ptr<PitchFile>> file =
      PitchFile::Open(folder.Write("a", data), 0);
  if (!file.ok()) return;
  const int64_t lines = ReadPitch(**file);
  TS_CHECK((*file)->Rewind().ok());
  TS_CHECK(ReadPitch(**file) == lines);
}

}  // namespace
}  // namespace tickstack::feed::market

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::feed::market::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
