#include "feed/sources/websocket_source.h"

#include <fmt/ranges.h>

#include "base/status.h"
#include "feed/market/websocket/websocket_recording.h"

namespace tickstack::feed {

std::vector<SourceOption> WebsocketOptions::List() {
  std::vector<SourceOption> options = ListCommon("recording of websocket messages");
  options.push_back({"venue", "the exchange, such as kraken, and the column venue", &venue});
  options.push_back({"merge", "more files of the recording, such as answers by HTTP", &merge});
  return options;
}

std::vector<std::string> WebsocketOptions::AllTables() const {
  return {"quote", "level", "trade", "gap"};
}

absl::StatusOr<std::unique_ptr<Source>> WebsocketOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("recording of websocket messages"));
  std::vector<std::string> paths = {path};
  paths.insert(paths.end(), merge.begin(), merge.end());
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::WebsocketRecording> recording,
                      market::WebsocketRecording::Open(std::move(paths), venue));
  return MarketSource::Create(std::move(recording), MarketRows(venue, WantedTables()), *this,
                              fmt::format("websocket venue={} path={}", venue, path));
}

std::string WebsocketOptions::RowsName() const {
  return CommonRowsName("websocket", fmt::format("{}.{}", venue, fmt::join(merge, ",")));
}

}  // namespace tickstack::feed
