#include "feed/sources/tardis_source.h"

#include <filesystem>

#include "base/status.h"
#include "feed/market/tardis/tardis_file.h"

namespace tickstack::feed {

std::vector<SourceOption> TardisOptions::List() { return ListCommon("CSV file of Tardis"); }

std::vector<std::string> TardisOptions::AllTables() const { return {"quote", "level", "trade"}; }

absl::StatusOr<std::unique_ptr<Source>> TardisOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("CSV file of Tardis"));
  // Liquidations have the columns of trades, but are none.
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.find("liquidations") != std::string::npos) {
    return InvalidArgument("{}: expected another kind of data than liquidations", path);
  }
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::TardisFile> file, market::TardisFile::Open(path));
  return MarketSource::Create(std::move(file), MarketRows("", WantedTables()), *this,
                              fmt::format("tardis path={}", path));
}

std::string TardisOptions::RowsName() const { return CommonRowsName("tardis", ""); }

}  // namespace tickstack::feed
