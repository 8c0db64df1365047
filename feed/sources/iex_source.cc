#include "feed/sources/iex_source.h"

#include "base/status.h"
#include "feed/market/iex/iex_capture.h"
#include "feed/sources/live_source.h"

namespace tickstack::feed {
std::vector<SourceOption> IexOptions::List() {
  std::vector<SourceOption> options = ListCommon("capture of TOPS, DEEP or DEEP+ (pcap or pcapng)");
  options.push_back(GapWaitOption(&gap_wait_ms));
  for (const SourceOption& option : live.List()) options.push_back(option);
  return options;
}

std::vector<std::string> IexOptions::AllTables() const {
  return {"instrument", "status", "auction",     "quote", "level",
          "order",      "trade",  "trade_break", "gap"};
}

absl::StatusOr<std::unique_ptr<Source>> IexOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("capture of TOPS, DEEP or DEEP+"));
  if (live.is_on()) {
    return LiveSource::Create({market::IexCapture::Live({.wait_ns = gap_wait_ms * kNsPerGapWaitMs}),
                               MarketRows("IEXG", WantedTables()), "iex"},
                              *this);
  }
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::IexCapture> capture,
                      market::IexCapture::Open(path, {.wait_ns = gap_wait_ms * kNsPerGapWaitMs}));
  return MarketSource::Create(std::move(capture), MarketRows("IEXG", WantedTables()), *this,
                              fmt::format("iex path={}", path));
}

std::string IexOptions::RowsName() const {
  if (live.is_on()) return "iex.live";
  return CommonRowsName("iex", fmt::format("{}", gap_wait_ms));
}

}  // namespace tickstack::feed
