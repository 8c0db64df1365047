#include "feed/sources/mdp3_source.h"

#include <fmt/ranges.h>

#include "base/status.h"
#include "feed/market/mdp3/mdp3_capture.h"

namespace tickstack::feed {

std::vector<SourceOption> Mdp3Options::List() {
  std::vector<SourceOption> options = ListCommon("capture of MDP 3.0 (pcap or pcapng)");
  options.push_back({"venue", "the column venue", &venue});
  options.push_back(
      {"channels", "channels with their lines, such as 310=ADDRESS:PORT+ADDRESS:PORT", &channels});
  options.push_back(GapWaitOption(&gap_wait_ms));
  return options;
}

std::vector<std::string> Mdp3Options::AllTables() const {
  return {"instrument", "statistic", "status", "level", "order", "trade", "trade_break", "gap"};
}

absl::StatusOr<std::unique_ptr<Source>> Mdp3Options::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("capture of MDP 3.0"));
  TS_ASSIGN_OR_RETURN(market::ChannelLines lines, market::ChannelLines::Parse(channels));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::Mdp3Capture> capture,
                      market::Mdp3Capture::Open(path, std::move(lines),
                                                {.wait_ns = gap_wait_ms * kNsPerGapWaitMs}));
  return MarketSource::Create(std::move(capture), MarketRows(venue, WantedTables()), *this,
                              fmt::format("mdp3 path={}", path));
}

std::string Mdp3Options::RowsName() const {
  return CommonRowsName("mdp3",
                        fmt::format("{}.{}.{}", venue, fmt::join(channels, ","), gap_wait_ms));
}

}  // namespace tickstack::feed
