#include "feed/sources/websocket_source.h"

#include <fmt/ranges.h>

#include "base/status.h"
#include "feed/market/websocket/websocket_recording.h"
#include "feed/sources/websocket_live_source.h"

namespace tickstack::feed {

std::vector<SourceOption> WebsocketOptions::List() {
  std::vector<SourceOption> options = ListCommon("recording of websocket messages");
  options.push_back({"venue", "the exchange, such as kraken, and the column venue", &venue});
  options.push_back({"merge", "more files of the recording, such as answers by HTTP", &merge});
  constexpr int64_t kSilenceSecondsMax = 3'600;
  const std::vector<SourceOption> more = {
      {"lines", "live: address to receive from, such as wss://ws.kraken.com/v2", &live.lines},
      {"subscribe", "live: texts that are sent after each connect, one on each line", &subscribe},
      {"snapshot", "live: addresses of books, as https://HOST/depth?symbol=BTCUSDT", &snapshot},
      {"ca", "live: PEM file of roots of the servers (absent: the system's)", &ca},
      {"silence_s", "live: silence in seconds after which it connects again", &silence_s, 1,
       kSilenceSecondsMax},
      live.KeepOption()};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

std::vector<std::string> WebsocketOptions::AllTables() const {
  return {"quote", "level", "trade", "gap"};
}

absl::StatusOr<std::unique_ptr<Source>> WebsocketOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("recording of websocket messages"));
  if (live.is_on()) {
    return WebsocketLiveSource::Create(*this, MarketRows(venue, WantedTables()));
  }
  std::vector<std::string> paths = {path};
  paths.insert(paths.end(), merge.begin(), merge.end());
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::WebsocketRecording> recording,
                      market::WebsocketRecording::Open(std::move(paths), venue));
  return MarketSource::Create(std::move(recording), MarketRows(venue, WantedTables()), *this,
                              fmt::format("websocket venue={} path={}", venue, path));
}

std::string WebsocketOptions::RowsName() const {
  if (live.is_on()) return "websocket.live";
  return CommonRowsName("websocket", fmt::format("{}.{}", venue, fmt::join(merge, ",")));
}

}  // namespace tickstack::feed
