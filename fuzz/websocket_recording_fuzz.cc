// Reads any bytes as a recording of websocket messages, of the exchange that the first byte
// chooses. It must not crash, and what does not fit must be counted once. Read again, the recording
// must give the same events.

#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "feed/market/event_testing.h"
#include "feed/market/websocket/websocket_recording.h"
#include "fuzz/scratch_folder.h"

namespace tickstack::feed::market {
namespace {

constexpr const char* kVenueNames[] = {"binance", "binance-futures", "bitstamp", "coinbase",
                                       "deribit", "kraken",          "okx"};
constexpr size_t kEventsMax = 10'000;  // Texts that are kept.

struct ReadResult {
  std::vector<std::string> texts;
  NameMap<int64_t> named;
  int64_t gaps = 0;
  bool operator==(const ReadResult&) const = default;
};

ReadResult ReadAll(WebsocketRecording& recording) {
  EventTexts events;
  int64_t steps = 0;
  while (true) {
    const absl::StatusOr<bool> more = recording.Advance();
    if (!more.ok() || !*more) break;
    ++steps;
    if (!recording.Decode(events).ok()) break;
    if (events.texts.size() > kEventsMax) events.texts.clear();
  }
  int64_t bad = 0;
  for (const auto& [name, count] : recording.counts().named) {
    if (name.starts_with("bad_") && name != "bad_checksums") bad += count;
  }
  TS_CHECK(bad == recording.counts().problems && bad <= steps);
  return {std::move(events.texts), recording.counts().named, recording.counts().gaps};
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  if (data.empty()) return;
  const auto venue =
      static_cast<uint8_t>(static_cast<uint8_t>(data[0]) - '0') % std::size(kVenueNames);
  const std::string path = folder.Write("a", data.subspan(1));
  auto recording = WebsocketRecording::Open({path}, kVenueNames[venue]);
  if (!recording.ok()) return;
  const ReadResult first = ReadAll(**recording);
  TS_CHECK((*recording)->Rewind().ok());
  TS_CHECK(ReadAll(**recording) == first);
}

}  // namespace
}  // namespace tickstack::feed::market

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::feed::market::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
