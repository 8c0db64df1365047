#include "feed/sources/pitch_source.h"

#include "base/status.h"
#include "feed/market/exchange_day.h"
#include "feed/market/pitch/pitch_capture.h"
#include "feed/market/pitch/pitch_file.h"

namespace tickstack::feed {
namespace {

absl::StatusOr<market::PitchMarket> ParsePitchMarket(std::string_view name) {
  if (name == "equities") return market::PitchMarket::kEquities;
  if (name == "options") return market::PitchMarket::kOptions;
  if (name == "futures") return market::PitchMarket::kFutures;
  if (name == "complex") return market::PitchMarket::kComplex;
  return InvalidArgument("market '{}': expected equities, options, futures or complex", name);
}

}  // namespace

std::vector<SourceOption> PitchOptions::List() {
  std::vector<SourceOption> options =
      ListCommon("capture of multicast PITCH, or file of TCP PITCH");
  options.push_back({"venue", "the column venue", &venue});
  options.push_back({"market", "equities, options, futures or complex", &market});
  options.push_back(GapWaitOption(&gap_wait_ms));
  options.push_back({"time_zone", "time zone in which the messages' day begins", &time_zone});
  return options;
}

std::vector<std::string> PitchOptions::AllTables() const {
  return {"instrument", "status", "auction", "order", "trade", "trade_break", "gap"};
}

absl::StatusOr<std::unique_ptr<Source>> PitchOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("capture of multicast PITCH, or file of TCP PITCH"));
  TS_ASSIGN_OR_RETURN(const market::PitchMarket traded, ParsePitchMarket(market));
  TS_ASSIGN_OR_RETURN(const int64_t midnight_ns, market::MidnightNs(date, time_zone));
  std::unique_ptr<market::EventReader> reader;
  TS_ASSIGN_OR_RETURN(const bool is_capture, market::PacketFile::IsCapture(path));
  if (is_capture) {
    TS_ASSIGN_OR_RETURN(reader,
                        market::PitchCapture::Open(path, midnight_ns, traded,
                                                   {.wait_ns = gap_wait_ms * kNsPerGapWaitMs}));
  } else {
    TS_ASSIGN_OR_RETURN(reader, market::PitchFile::Open(path, midnight_ns));
  }
  return MarketSource::Create(std::move(reader), MarketRows(venue, WantedTables()), *this,
                              fmt::format("pitch date={} path={}", date, path));
}

std::string PitchOptions::RowsName() const {
  return CommonRowsName("pitch", fmt::format("{}.{}.{}.{}", venue, market, time_zone, gap_wait_ms));
}

}  // namespace tickstack::feed
