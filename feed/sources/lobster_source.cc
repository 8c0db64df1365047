#include "feed/sources/lobster_source.h"

#include "base/status.h"
#include "base/time.h"
#include "feed/market/exchange_day.h"
#include "feed/market/lobster/lobster_file.h"

namespace tickstack::feed {

std::vector<SourceOption> LobsterOptions::List() {
  std::vector<SourceOption> options = ListCommon("message file of LOBSTER");
  options.push_back(
      {"book", "orderbook file of the same messages (absent: no quotes and levels)", &book});
  options.push_back({"symbol", "the column sym (absent: from the file's name)", &symbol});
  options.push_back({"venue", "the column venue", &venue});
  options.push_back({"time_zone", "time zone in which the messages' day begins", &time_zone});
  return options;
}

std::vector<std::string> LobsterOptions::AllTables() const {
  std::vector<std::string> all = {"status", "order", "trade"};
  if (!book.empty()) all.insert(all.end(), {"quote", "level"});
  return all;
}

absl::StatusOr<std::string> LobsterOptions::CheckName() const {
  const market::LobsterFileName name = market::ParseLobsterFileName(path);
  if (!name.date.empty() && ParseDate(name.date) != ParseDate(date)) {
    return InvalidArgument("{}: the file's name is of {}, --date is {}", path, name.date, date);
  }
  if (!symbol.empty()) return symbol;
  if (name.symbol.empty()) {
    return InvalidArgument(
        "{}: the file's name does not begin as AAPL_2012-06-21_ does: name its symbol (--symbol; "
        "in a configuration: symbol)",
        path);
  }
  return name.symbol;
}

absl::StatusOr<std::unique_ptr<Source>> LobsterOptions::Open() const {
  TS_RETURN_IF_ERROR(CheckCommon("message file of LOBSTER"));
  TS_ASSIGN_OR_RETURN(const int64_t midnight_ns, market::MidnightNs(date, time_zone));
  TS_ASSIGN_OR_RETURN(std::string sym, CheckName());
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::LobsterFile> file,
                      market::LobsterFile::Open(path, std::move(sym), midnight_ns, book));
  return MarketSource::Create(
      std::move(file), MarketRows(venue, WantedTables()), *this,
      fmt::format("lobster date={} path={}{}", date, path,
                  book.empty() ? std::string() : fmt::format(" book={}", book)));
}

std::string LobsterOptions::RowsName() const {
  return CommonRowsName(
      "lobster", fmt::format("{}.{}.{}{}", symbol, venue, time_zone, book.empty() ? "" : ".book"));
}

}  // namespace tickstack::feed
