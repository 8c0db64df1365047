#include "feed/sources/itch_source.h"

#include "base/status.h"
#include "feed/market/exchange_day.h"
#include "feed/market/itch/itch_capture.h"
#include "feed/market/itch/itch_file.h"
#include "feed/sources/live_source.h"

namespace tickstack::feed {

std::vector<SourceOption> ItchOptions::List() {
  std::vector<SourceOption> options = ListCommon("file of ITCH 5.0 messages, or capture of them");
  options.push_back({"venue", "the column venue", &venue});
  options.push_back(GapWaitOption(&gap_wait_ms));
  for (const SourceOption& option : live.List()) options.push_back(option);
  options.push_back(live.RequestOption());
  for (const SourceOption& option : live.SoupOptions()) options.push_back(option);
  options.push_back({"time_zone", "time zone in which the messages' day begins", &time_zone});
  return options;
}

std::vector<std::string> ItchOptions::AllTables() const {
  return {"instrument", "status", "auction", "order", "trade", "trade_break", "gap"};
}

absl::StatusOr<std::unique_ptr<Source>> ItchOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("file of ITCH 5.0 messages"));
  if (live.is_on()) return OpenLive();
  TS_ASSIGN_OR_RETURN(const int64_t midnight_ns, market::MidnightNs(date, time_zone));
  std::unique_ptr<market::EventReader> reader;
  TS_ASSIGN_OR_RETURN(const bool is_capture, market::PacketFile::IsCapture(path));
  if (is_capture) {
    TS_ASSIGN_OR_RETURN(reader, market::ItchCapture::Open(
                                    path, midnight_ns, {.wait_ns = gap_wait_ms * kNsPerGapWaitMs}));
  } else {
    TS_ASSIGN_OR_RETURN(reader, market::ItchFile::Open(path, midnight_ns));
  }
  return MarketSource::Create(std::move(reader), MarketRows(venue, WantedTables()), *this,
                              fmt::format("itch date={} path={}", date, path));
}

absl::StatusOr<std::unique_ptr<Source>> ItchOptions::OpenLive() const {
  TS_ASSIGN_OR_RETURN(market::ExchangeDays days, market::ExchangeDays::Create(time_zone));
  std::optional<int64_t> midnight_ns;
  if (!date.empty()) {
    TS_ASSIGN_OR_RETURN(midnight_ns, market::MidnightNs(date, time_zone));
  }
  return LiveSource::Create(
      {market::ItchCapture::Live(midnight_ns, days,
                                 {.wait_ns = gap_wait_ms * kNsPerGapWaitMs,
                                  .tried = live.request.empty() ? "lines" : "lines,request"}),
       MarketRows(venue, WantedTables()), "itch"},
      *this);
}

std::string ItchOptions::RowsName() const {
  if (live.is_on()) return "itch.live";
  return CommonRowsName("itch", fmt::format("{}.{}.{}", venue, time_zone, gap_wait_ms));
}

}  // namespace tickstack::feed
