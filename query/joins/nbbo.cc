#include "query/joins/nbbo.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/columns/parallel.h"
#include "query/joins/best_quotes.h"
#include "query/joins/nbbo_side.h"
#include "query/kernels/item_numbers.h"
#include "query/kernels/symbol_rows.h"

namespace tickstack::query {
namespace {

// Rows that are read, matched with their books and written at a time: their data stays in the
// first-level cache.
constexpr size_t kQuotesPerBlock = 512;
// The fewest rows of a part: fewer are not worth another thread and its books.
constexpr size_t kPartRows = size_t{1} << 16;
// Rows between two looks at the clock.
constexpr size_t kCheckRows = size_t{1} << 16;

bool IsAmount(Type type) {
  return type == Type::kShort || type == Type::kInt || type == Type::kLong || type == Type::kReal ||
         type == Type::kFloat;
}

// Returns a column with an item for each row of the view, as a range of elements that lie in
// memory and are verified.
absl::StatusOr<Slice> InRange(Slice slice, Budget& budget) {
  if (slice.rows->is_range() && slice.column.direct()) {
    const size_t first_row = slice.rows->begin_row();
    TS_RETURN_IF_ERROR(
        ParallelRanges(budget, slice.count(), size_t{1} << 18, [&](size_t begin, size_t end) {
          return slice.column.Verify(first_row + begin, first_row + end);
        }));
    return slice;
  }
  TS_ASSIGN_OR_RETURN(Value value, Materialise(slice, budget));
  return Slice::Of(std::move(value));
}

class NbboRun {
 public:
  NbboRun(const ItemNumbers& symbols, const ItemNumbers& venues, std::array<NbboSide, 2>& sides,
          size_t rows, Budget& budget)
      : symbols_(symbols), venues_(venues), sides_(sides), rows_(rows), budget_(budget) {}

  absl::Status Run();

 private:
  using Books = std::array<BestQuotes, 2>;
  struct Places {
    std::array<uint32_t, kQuotesPerBlock> symbol, venue;
  };

  size_t places() const { return symbols_.distinct() * venues_.distinct(); }
  size_t BeginOf(size_t part) const { return rows_ * part / parts_; }
  Books MakeBooks() const {
    return {BestQuotes(symbols_.distinct(), venues_.distinct(), sides_[0].sizes()),
            BestQuotes(symbols_.distinct(), venues_.distinct(), sides_[1].sizes())};
  }
  void ReadPlaces(size_t begin, size_t n, Places& places) const {
    symbols_.Read(begin, std::span(places.symbol).first(n));
    venues_.Read(begin, std::span(places.venue).first(n));
  }
  absl::Status Charge();
  absl::Status FindLast(size_t part);
  void Begin(size_t part, Books& books) const;
  absl::Status RunPart(size_t part);

  const ItemNumbers &symbols_, &venues_;
  std::array<NbboSide, 2>& sides_;
  const size_t rows_;
  Budget& budget_;
  size_t parts_ = 1;
  // For each part but the last, by symbol and venue: the number of the last row plus one.
  std::vector<ScratchVector<uint32_t>> last_;
};

absl::Status NbboRun::Charge() {
  size_t bytes = sizeof(uint32_t) * (parts_ - 1) * places();
  for (const NbboSide& side : sides_) {
    bytes += parts_ * BestQuotes::Bytes(symbols_.distinct(), venues_.distinct(), side.sizes());
  }
  return budget_.Charge(bytes);
}

absl::Status NbboRun::Run() {
  size_t unused = 0;
  if (__builtin_mul_overflow(symbols_.distinct(), venues_.distinct() * 64, &unused) ||
      unused > (size_t{1} << 48)) {
    return LimitError("the books of {} symbols at {} venues", symbols_.distinct(),
                      venues_.distinct());
  }
  for (NbboSide& side : sides_) TS_RETURN_IF_ERROR(side.Reserve(rows_, budget_));
  // A part repays its books if it has at least one row for each of their places.
  const size_t worth = std::max(kPartRows, places());
  parts_ = std::clamp<size_t>(rows_ / worth, 1, ParallelThreads(budget_));
  TS_RETURN_IF_ERROR(Charge());
  last_.resize(parts_ - 1);
  TS_RETURN_IF_ERROR(
      ParallelTasks(budget_, parts_ - 1, [&](size_t part) { return FindLast(part); }));
  return ParallelTasks(budget_, parts_, [&](size_t part) { return RunPart(part); });
}

absl::Status NbboRun::FindLast(size_t part) {
  ScratchVector<uint32_t> last(places(), 0);
  Places block;
  const size_t venues = venues_.distinct(), end = BeginOf(part + 1);
  for (size_t begin = BeginOf(part); begin < end; begin += kQuotesPerBlock) {
    if (begin / kQuotesPerBlock % (kCheckRows / kQuotesPerBlock) == 0)
      TS_RETURN_IF_ERROR(budget_.CheckTime());
    const size_t n = std::min(kQuotesPerBlock, end - begin);
    ReadPlaces(begin, n, block);
    for (size_t i = 0; i < n; ++i) {
      last[block.symbol[i] * venues + block.venue[i]] = static_cast<uint32_t>(begin + i + 1);
    }
  }
  last_[part] = std::move(last);
  return absl::OkStatus();
}

// Makes the books as they are where a part begins.
void NbboRun::Begin(size_t part, Books& books) const {
  if (part == 0) return;
  for (size_t symbol = 0, at = 0; symbol < symbols_.distinct(); ++symbol) {
    for (size_t venue = 0; venue < venues_.distinct(); ++venue, ++at) {
      uint32_t row = 0;
      for (size_t before = part; before > 0 && row == 0; --before) row = last_[before - 1][at];
      if (row == 0) continue;
      for (size_t i = 0; i < books.size(); ++i) {
        BestQuotes::Quote quote;
        sides_[i].Read(row - 1, std::span(&quote, 1));
        books[i].Set(symbol, venue, quote);
      }
    }
    for (BestQuotes& side : books) side.FindBest(symbol);
  }
}

absl::Status NbboRun::RunPart(size_t part) {
  constexpr size_t kAhead = 12;
  Books books = MakeBooks();
  Begin(part, books);
  Places at;
  std::array<std::array<BestQuotes::Quote, kQuotesPerBlock>, 2> quotes;
  const size_t end = BeginOf(part + 1);
  for (size_t begin = BeginOf(part); begin < end; begin += kQuotesPerBlock) {
    if (begin / kQuotesPerBlock % (kCheckRows / kQuotesPerBlock) == 0)
      TS_RETURN_IF_ERROR(budget_.CheckTime());
    const size_t n = std::min(kQuotesPerBlock, end - begin);
    ReadPlaces(begin, n, at);
    for (size_t side = 0; side < books.size(); ++side) {
      BestQuotes& book = books[side];
      const std::span<BestQuotes::Quote> block(quotes[side].data(), n);
      sides_[side].Read(begin, block);
      for (size_t i = 0; i < n; ++i) {
        if (i + kAhead < n) book.Prefetch(at.symbol[i + kAhead], at.venue[i + kAhead]);
        block[i] = book.Update(at.symbol[i], at.venue[i], block[i]);
      }
      sides_[side].Write(begin, block);
    }
  }
  return absl::OkStatus();
}

// Computes over the rows of a stored table, which lie symbol by symbol: only the current symbol's
// book is needed and stays in the first-level cache, and threads take whole symbols.
class PartedNbboRun {
 public:
  // Returns nullopt if the symbols' rows are not known. `symbol` has an item for each row of the
  // view.
  static absl::StatusOr<std::optional<PartedNbboRun>> Make(const Slice& symbol,
                                                           const ItemNumbers& venues,
                                                           std::array<NbboSide, 2>& sides,
                                                           Budget& budget);
  absl::Status Run();

 private:
  PartedNbboRun(const ItemNumbers& venues, std::array<NbboSide, 2>& sides, size_t rows,
                Budget& budget)
      : venues_(&venues), sides_(&sides), rows_(rows), budget_(&budget) {}

  absl::Status RunSymbols(size_t begin, size_t end);
  void RunPiece(disk::RowRange rows, std::array<BestQuotes, 2>& books);

  const ItemNumbers* venues_;
  std::array<NbboSide, 2>* sides_;
  size_t rows_;
  Budget* budget_;
  // Rows of the view; those of a symbol follow each other and ascend.
  std::vector<disk::RowRange> pieces_;
  std::vector<size_t> symbols_;  // The first piece of each symbol, and the end of the last one.
};

absl::StatusOr<std::optional<PartedNbboRun>> PartedNbboRun::Make(const Slice& symbol,
                                                                 const ItemNumbers& venues,
                                                                 std::array<NbboSide, 2>& sides,
                                                                 Budget& budget) {
  if (symbol.column.stored() == nullptr || !symbol.column.indexed() || !symbol.rows->is_range()) {
    return std::nullopt;
  }
  PartedNbboRun run(venues, sides, symbol.count(), budget);
  TS_ASSIGN_OR_RETURN(const SymbolRows all, SymbolRows::All(symbol.column, *symbol.rows, budget));
  const uint64_t first = symbol.rows->begin_row(), last = symbol.rows->end_row();
  for (size_t i = 0; i < all.count(); ++i) {
    run.symbols_.push_back(run.pieces_.size());
    EachRangeOf(*all.RowsOf(i), [&](uint64_t begin_row, uint64_t end_row) {
      const uint64_t begin = std::max(begin_row, first), end = std::min(end_row, last);
      if (begin < end) run.pieces_.push_back({begin - first, end - first});
    });
  }
  run.symbols_.push_back(run.pieces_.size());
  TS_RETURN_IF_ERROR(
      budget.Charge(run.pieces_.size() + run.symbols_.size(), sizeof(disk::RowRange)));
  return run;
}

absl::Status PartedNbboRun::Run() {
  std::vector<size_t> tasks = {0};  // The first symbol of each task, and at the end their number.
  size_t rows = 0;
  for (size_t symbol = 0; symbol + 1 < symbols_.size(); ++symbol) {
    for (size_t i = symbols_[symbol]; i < symbols_[symbol + 1]; ++i) rows += pieces_[i].rows();
    if (rows < kPartRows && symbol + 2 < symbols_.size()) continue;
    tasks.push_back(symbol + 1);
    rows = 0;
  }
  for (NbboSide& side : *sides_) {
    TS_RETURN_IF_ERROR(side.Reserve(rows_, *budget_));
    TS_RETURN_IF_ERROR(budget_->Charge(ParallelThreads(*budget_),
                                       BestQuotes::Bytes(1, venues_->distinct(), side.sizes())));
  }
  return ParallelTasks(*budget_, tasks.size() - 1,
                       [&](size_t i) { return RunSymbols(tasks[i], tasks[i + 1]); });
}

absl::Status PartedNbboRun::RunSymbols(size_t begin, size_t end) {
  std::array<BestQuotes, 2> books = {BestQuotes(1, venues_->distinct(), (*sides_)[0].sizes()),
                                     BestQuotes(1, venues_->distinct(), (*sides_)[1].sizes())};
  for (size_t symbol = begin; symbol < end; ++symbol) {
    for (BestQuotes& book : books) book.Clear();
    for (size_t i = symbols_[symbol]; i < symbols_[symbol + 1]; ++i) {
      TS_RETURN_IF_ERROR(budget_->CheckTime());
      RunPiece(pieces_[i], books);
    }
  }
  return absl::OkStatus();
}

void PartedNbboRun::RunPiece(disk::RowRange rows, std::array<BestQuotes, 2>& books) {
  std::array<uint32_t, kQuotesPerBlock> venue;
  std::array<BestQuotes::Quote, kQuotesPerBlock> quotes;
  for (size_t begin = rows.begin_row; begin < rows.end_row; begin += kQuotesPerBlock) {
    const size_t n = std::min<size_t>(kQuotesPerBlock, rows.end_row - begin);
    venues_->Read(begin, std::span(venue).first(n));
    const std::span<BestQuotes::Quote> block(quotes.data(), n);
    for (size_t side = 0; side < books.size(); ++side) {
      (*sides_)[side].Read(begin, block);
      for (size_t i = 0; i < n; ++i) block[i] = books[side].Update(0, venue[i], block[i]);
      (*sides_)[side].Write(begin, block);
    }
  }
}

absl::StatusOr<std::vector<size_t>> FindColumns(const Value& columns, const TableView& table) {
  if (columns.type() != Type::kSymbol || columns.is_atom()) {
    return TypeError("columns of {}, expected symbol, venue, bid, ask",
                     columns.is_atom() ? "an atom" : NameOf(columns.type()));
  }
  if (columns.count() != 4 && columns.count() != 6) {
    return LengthError("{} columns, expected symbol, venue, bid, ask, or those and two sizes",
                       columns.count());
  }
  std::vector<size_t> found;
  for (size_t i = 0; i < columns.count(); ++i) {
    const std::string_view name = columns.symbols()[i];
    const int at = table.Find(name);
    if (at < 0) return NameError(name);
    found.push_back(static_cast<size_t>(at));
    const Type type = table.columns[found.back()].type();
    if (i >= 2 && !IsAmount(type)) {
      return TypeError("column {} is {}, not a number", name, NameOf(type));
    }
  }
  return found;
}

}  // namespace

absl::StatusOr<TableView> Nbbo(const Value& columns, const TableView& table, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const std::vector<size_t> found, FindColumns(columns, table));
  const bool sized = found.size() == 6;
  std::array<std::optional<NbboSide>, 2> sides;
  for (size_t i = 0; i < sides.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Slice price, table.ColumnAt(found[2 + i], budget));
    TS_ASSIGN_OR_RETURN(price, InRange(std::move(price), budget));
    std::optional<Slice> size;
    if (sized) {
      TS_ASSIGN_OR_RETURN(Slice sizes, table.ColumnAt(found[4 + i], budget));
      TS_ASSIGN_OR_RETURN(size, InRange(std::move(sizes), budget));
    }
    sides[i].emplace(i == 1, std::move(price), std::move(size));
  }
  TS_ASSIGN_OR_RETURN(const Slice symbol, table.ColumnAt(found[0], budget));
  TS_ASSIGN_OR_RETURN(const Slice venue, table.ColumnAt(found[1], budget));
  TS_ASSIGN_OR_RETURN(const ItemNumbers venues, ItemNumbers::Of(venue, budget));
  std::array<NbboSide, 2> both = {*std::move(sides[0]), *std::move(sides[1])};
  TS_ASSIGN_OR_RETURN(std::optional<PartedNbboRun> parted,
                      PartedNbboRun::Make(symbol, venues, both, budget));
  if (parted.has_value()) {
    TS_RETURN_IF_ERROR(parted->Run());
  } else {
    TS_ASSIGN_OR_RETURN(const ItemNumbers symbols, ItemNumbers::Of(symbol, budget));
    TS_RETURN_IF_ERROR(NbboRun(symbols, venues, both, table.count(), budget).Run());
  }

  TableView result;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, table.count()));
  UniqueNames unique;
  const auto add = [&](size_t column, ViewColumn items) {
    result.names.push_back(unique.Next(table.names[column]));
    result.columns.push_back(std::move(items));
  };
  const auto add_from_table = [&](size_t column) -> absl::Status {
    ViewColumn items = ViewColumn::AtRows(table.columns[column], table.rows);
    TS_RETURN_IF_ERROR(items.Settle(budget));
    add(column, std::move(items));
    return absl::OkStatus();
  };
  if (const int time = table.Find("time");
      time >= 0 && std::ranges::find(found, static_cast<size_t>(time)) == found.end()) {
    TS_RETURN_IF_ERROR(add_from_table(static_cast<size_t>(time)));
  }
  TS_RETURN_IF_ERROR(add_from_table(found[0]));
  for (size_t i = 0; i < 2; ++i) add(found[2 + i], ViewColumn(both[i].TakePrices()));
  for (size_t i = 0; sized && i < 2; ++i) add(found[4 + i], ViewColumn(both[i].TakeSizes()));
  return result;
}

}  // namespace tickstack::query
