#include "feed/sources/taq_source.h"

#include "base/status.h"
#include "base/time.h"
#include "feed/market/exchange_day.h"
#include "feed/market/taq/taq_file.h"

namespace tickstack::feed {
namespace {

constexpr std::string_view kFloatSizes = "float", kLongSizes = "long";

absl::StatusOr<std::optional<market::TaqKind>> ParseKind(const std::string& kind,
                                                         const std::string& path) {
  if (kind.empty()) return market::TaqKindOfName(path);
  if (kind == "trade") return market::TaqKind::kTrade;
  if (kind == "quote") return market::TaqKind::kQuote;
  if (kind == "nbbo") return market::TaqKind::kNbbo;
  return InvalidArgument("kind: expected trade, quote or nbbo, found '{}'", kind);
}

}  // namespace

std::vector<SourceOption> TaqOptions::List() {
  std::vector<SourceOption> options = ListCommon("file of NYSE Daily TAQ");
  options.push_back({"kind",
                     "what a file of fixed width has: trade, quote or nbbo (absent: by its name)",
                     &kind});
  options.push_back({"sizes", "type of sizes: long, or float for fractional shares", &sizes});
  options.push_back({"time_zone", "time zone in which the messages' day begins", &time_zone});
  return options;
}

std::vector<std::string> TaqOptions::AllTables() const { return {"quote", "trade", "trade_break"}; }

MarketTypes TaqOptions::Types() const {
  return {sizes == kFloatSizes ? Type::kFloat : Type::kLong, Type::kLong};
}

absl::StatusOr<std::unique_ptr<Source>> TaqOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("file of NYSE Daily TAQ"));
  if (sizes != kFloatSizes && sizes != kLongSizes) {
    return InvalidArgument("sizes: expected long or float, found '{}'", sizes);
  }
  market::TaqFileSettings settings;
  TS_ASSIGN_OR_RETURN(settings.midnight_ns, market::MidnightNs(date, time_zone));
  settings.day = *ParseDate(date);
  TS_ASSIGN_OR_RETURN(settings.kind, ParseKind(kind, path));
  settings.has_amounts = sizes == kFloatSizes;
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::TaqFile> file, market::TaqFile::Open(path, settings));
  return MarketSource::Create(std::move(file), MarketRows("", WantedTables()), *this,
                              fmt::format("taq date={} path={}", date, path));
}

std::string TaqOptions::RowsName() const {
  return CommonRowsName("taq", fmt::format("{}.{}.{}", kind, sizes, time_zone));
}

}  // namespace tickstack::feed
