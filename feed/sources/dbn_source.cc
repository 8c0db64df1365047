#include "feed/sources/dbn_source.h"

#include "base/status.h"
#include "feed/market/dbn/dbn_file.h"

namespace tickstack::feed {

std::vector<SourceOption> DbnOptions::List() { return ListCommon("file of Databento's DBN"); }

std::vector<std::string> DbnOptions::AllTables() const {
  return {"instrument", "statistic", "status", "auction", "quote",
          "level",      "order",     "trade",  "bar"};
}

absl::StatusOr<std::unique_ptr<Source>> DbnOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("file of Databento's DBN"));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::DbnFile> file, market::DbnFile::Open(path));
  return MarketSource::Create(std::move(file), MarketRows({}, WantedTables()), *this,
                              fmt::format("dbn path={}", path));
}

std::string DbnOptions::RowsName() const { return CommonRowsName("dbn", {}); }

}  // namespace tickstack::feed
