// Reads any bytes as a capture of IEX, of ITCH in MoldUDP64, of MDP 3.0, and of PITCH of each
// market. A first byte of 1 makes a capture of the bytes behind it: datagrams, each after its
// length of a byte. It must not crash, and every packet must be counted at most once as bad,
// foreign or a heartbeat.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/check.h"
#include "feed/market/capture_testing.h"
#include "feed/market/iex/iex_capture.h"
#include "feed/market/itch/itch_capture.h"
#include "feed/market/mdp3/mdp3_capture.h"
#include "feed/market/pitch/pitch_capture.h"
#include "fuzz/scratch_folder.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kEventsKeptMax = 10'000;  // Texts that are kept.

std::string CaptureOf(std::span<const std::byte> data) {
  CaptureBytes capture;
  for (int64_t n = 0; !data.empty(); ++n) {
    const size_t bytes = std::min(static_cast<size_t>(data[0]), data.size() - 1);
    capture.Udp(std::string(AsText(data.subspan(1, bytes))), n * 1'000'000,
                static_cast<uint8_t>(n % 2));
    data = data.subspan(1 + bytes);
  }
  return capture.bytes();
}

void ReadCapture(absl::StatusOr<std::unique_ptr<EventReader>> reader) {
  if (!reader.ok()) return;
  EventTexts events;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Advance();
    if (!more.ok() || !*more) break;
    TS_CHECK((*reader)->Decode(events).ok());
    if (events.texts.size() > kEventsKeptMax) events.texts.clear();
  }
  const MessageCounts& counts = (*reader)->counts();
  TS_CHECK(counts.bad_packets + counts.other_packets + counts.heartbeats <= counts.packets);
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  const bool is_datagrams = !data.empty() && data[0] == std::byte{1};
  const std::string made = is_datagrams ? CaptureOf(data.subspan(1)) : std::string();
  const std::string path = folder.Write("a", is_datagrams ? AsBytes(made) : data);
  ReadCapture(IexCapture::Open(path));
  ReadCapture(ItchCapture::Open(path, 0));
  // CaptureBytes has these two.
  const std::string lines[] = {"1=239.0.0.0:1000+239.0.0.1:1000"};
  ReadCapture(Mdp3Capture::Open(path, ChannelLines::Parse(lines).value()));
  for (const PitchMarket market : {PitchMarket::kEquities, PitchMarket::kOptions,
                                   PitchMarket::kFutures, PitchMarket::kComplex}) {
    ReadCapture(PitchCapture::Open(path, 0, market));
  }
}

}  // namespace
}  // namespace tickstack::feed::market

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::feed::market::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
