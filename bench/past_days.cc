#include "bench/past_days.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::bench {
namespace {

template <typename T>
absl::Status ReadColumn(const disk::SplayedTable& table, std::string_view name,
                        std::span<const T>& out,
                        std::vector<std::shared_ptr<const disk::ColumnFile>>& files,
                        std::vector<disk::PinnedBytes>& held) {
  const int at = table.Find(name);
  if (at < 0) return absl::OkStatus();  // A column of the other table.
  TS_ASSIGN_OR_RETURN(files.emplace_back(), table.Column(static_cast<size_t>(at)));
  TS_ASSIGN_OR_RETURN(held.emplace_back(), files.back()->Elements());
  out = {reinterpret_cast<const T*>(held.back().data()), held.back().size() / sizeof(T)};
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SymbolId>> ReadSymbols(const disk::SplayedTable& table) {
  const int at = table.Find("sym");
  if (at < 0) return NotFound("{}: no column sym", table.directory());
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::ColumnFile> file,
                      table.Column(static_cast<size_t>(at)));
  std::vector<SymbolId> ids(file->rows());
  TS_RETURN_IF_ERROR(file->ReadSymbols({0, file->rows()}, ids));
  return ids;
}

void Add(double bid, double size, SymbolSums& sums) {
  sums.count += 1;
  sums.sum += bid;
  sums.weights += size;
  sums.products += bid * size;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PastDays>> PastDays::Open(const std::string& root) {
  std::unique_ptr<PastDays> days(new PastDays());
  TS_ASSIGN_OR_RETURN(days->database_, disk::Database::Open(root));
  TS_RETURN_IF_ERROR(days->Read("quote", days->quotes_));
  TS_RETURN_IF_ERROR(days->Read("trade", days->trades_));
  for (const PastRows& quotes : days->quotes_) days->quote_rows_ += quotes.time.size();
  return days;
}

absl::Status PastDays::Read(std::string_view name, std::vector<PastRows>& days) {
  const disk::PartitionedTable* const table = database_->FindPartitioned(name);
  if (table == nullptr) return NotFound("{}: no table {}", database_->root(), name);
  for (size_t i = 0; i < database_->partitions().size(); ++i) {
    TS_ASSIGN_OR_RETURN(const disk::SplayedTable* const day, table->In(i));
    if (day == nullptr) continue;
    PastRows& rows = days.emplace_back();
    rows.date = static_cast<int32_t>(database_->partitions()[i].value);
    TS_ASSIGN_OR_RETURN(rows.sym, ReadSymbols(*day));
    TS_RETURN_IF_ERROR(ReadColumn(*day, "time", rows.time, files_, held_));
    TS_RETURN_IF_ERROR(ReadColumn(*day, "ex", rows.ex, files_, held_));
    TS_RETURN_IF_ERROR(ReadColumn(*day, "bid", rows.bid, files_, held_));
    TS_RETURN_IF_ERROR(ReadColumn(*day, "ask", rows.ask, files_, held_));
    TS_RETURN_IF_ERROR(ReadColumn(*day, "price", rows.price, files_, held_));
    TS_RETURN_IF_ERROR(ReadColumn(*day, "bsize", rows.bsize, files_, held_));
  }
  return absl::OkStatus();
}

std::vector<SymbolId> PastDays::Basket() const {
  std::map<SymbolId, size_t> rows;
  for (const PastRows& quotes : quotes_) {
    for (const SymbolId id : quotes.sym) ++rows[id];
  }
  std::vector<std::pair<size_t, SymbolId>> ranked;
  for (const auto& [id, count] : rows) ranked.emplace_back(count, id);
  std::ranges::sort(ranked, std::greater());
  std::vector<SymbolId> basket;
  for (size_t rank = std::min<size_t>(9, ranked.size() - 1); rank < ranked.size(); rank += 100) {
    basket.push_back(ranked[rank].second);
  }
  return basket;
}

std::map<SymbolId, SymbolSums> PastDays::BasketSums(std::span<const SymbolId> basket,
                                                    int64_t first_ns, int64_t last_ns) const {
  const std::set<SymbolId> wanted(basket.begin(), basket.end());
  std::map<SymbolId, SymbolSums> sums;
  for (const PastRows& quotes : quotes_) {
    for (size_t row = 0; row < quotes.time.size(); ++row) {
      const int64_t of_day = quotes.time[row] - int64_t{quotes.date} * kNsPerDay;
      if (!wanted.contains(quotes.sym[row]) || of_day < first_ns || of_day > last_ns) continue;
      Add(quotes.bid[row], static_cast<double>(quotes.bsize[row]), sums[quotes.sym[row]]);
    }
  }
  return sums;
}

std::map<SymbolId, SymbolSums> PastDays::SumsBySymbol() const {
  std::map<SymbolId, SymbolSums> sums;
  for (const PastRows& quotes : quotes_) {
    for (size_t row = 0; row < quotes.time.size(); ++row) {
      Add(quotes.bid[row], static_cast<double>(quotes.bsize[row]), sums[quotes.sym[row]]);
    }
  }
  for (const PastRows& quotes : quotes_) {
    for (size_t row = 0; row < quotes.time.size(); ++row) {
      SymbolSums& of_symbol = sums[quotes.sym[row]];
      const double apart = quotes.bid[row] - of_symbol.sum / of_symbol.count;
      of_symbol.squares += apart * apart;
    }
  }
  return sums;
}

std::vector<PastDays::Best> PastDays::BestQuotes(const PastRows& quotes) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::map<SymbolId, std::array<Best, 256>> books;
  std::vector<Best> best;
  for (size_t row = 0; row < quotes.time.size(); ++row) {
    const auto [book, is_new] = books.try_emplace(quotes.sym[row]);
    if (is_new) book->second.fill({kNone, kNone});
    const auto quoted = [](double price) { return price == 0 ? kNone : price; };
    book->second[quotes.ex[row]] = {quoted(quotes.bid[row]), quoted(quotes.ask[row])};
    Best now = {kNone, kNone};
    for (const Best& quote : book->second) {  // fmax and fmin ignore NaN.
      now = {std::fmax(now.bid, quote.bid), std::fmin(now.ask, quote.ask)};
    }
    best.push_back(now);
  }
  return best;
}

std::vector<int64_t> PastDays::Prevailing(const PastRows& trades, const PastRows& quotes) {
  std::map<SymbolId, std::pair<size_t, size_t>> ranges;
  for (size_t row = 0; row < quotes.sym.size(); ++row) {
    const auto [range, is_new] = ranges.try_emplace(quotes.sym[row], row, row);
    range->second.second = row + 1;
  }
  std::vector<int64_t> prevailing;
  for (size_t row = 0; row < trades.time.size(); ++row) {
    const auto range = ranges.find(trades.sym[row]);
    int64_t found = -1;
    if (range != ranges.end()) {
      const auto [begin, end] = range->second;
      const auto after =
          std::upper_bound(quotes.time.begin() + static_cast<ptrdiff_t>(begin),
                           quotes.time.begin() + static_cast<ptrdiff_t>(end), trades.time[row]);
      const auto at = static_cast<size_t>(after - quotes.time.begin());
      if (at > begin) found = static_cast<int64_t>(at - 1);
    }
    prevailing.push_back(found);
  }
  return prevailing;
}

}  // namespace tickstack::bench
