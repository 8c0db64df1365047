#include "query/nbbo.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "query/best_quotes.h"
#include "query/elements.h"
#include "query/errors.h"
#include "query/gather.h"
#include "query/item_numbers.h"
#include "query/ordered_times.h"
#include "query/parallel.h"
#include "query/range_items.h"
#include "query/type_rules.h"

namespace tickstack::query {
namespace {

// Rows that are read, matched with their books and written at a time: all of it stays in the
// first-level cache.
constexpr size_t kQuotesPerBlock = 512;
// Fewer rows are not worth another thread and its books.
constexpr size_t kPartRows = size_t{1} << 16;
// Between two looks at the clock.
constexpr size_t kCheckRows = size_t{1} << 16;

bool IsAmount(Type type) {
  return type == Type::kShort || type == Type::kInt || type == Type::kLong || type == Type::kReal ||
         type == Type::kFloat;
}

template <typename T>
int64_t KeyOfPrice(T price, bool ask) {
  const int64_t ordered = OrderedTime(price);
  if (ordered == kNullLong || ordered == 0) return kNoPrice;
  return ask ? -ordered : ordered;
}

template <typename T>
T PriceOfKey(Type type, int64_t key, bool ask) {
  if (key == kNoPrice) return NullElement<T>(type);
  const int64_t ordered = ask ? -key : key;
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(FloatOfOrdered(ordered));
  return static_cast<T>(ordered);
}

// A column with a row for each of the view's, as a range of elements that lie in memory.
absl::StatusOr<Slice> InRange(Slice slice, Budget& budget) {
  if (slice.rows->is_range() && slice.column.direct()) return slice;
  TS_ASSIGN_OR_RETURN(Value value, Materialise(slice, budget));
  return Slice::Of(std::move(value));
}

// One side of the market: its columns, and the vectors that its best quotes become.
class Side {
 public:
  Side(bool ask, Slice price, std::optional<Slice> size)
      : ask_(ask), price_(std::move(price)), size_(std::move(size)) {
    if (!size_.has_value()) return;
    size_type_ = *SumType(size_->type());
    sizes_ = IsFloating(size_type_) ? SizeKind::kFloating : SizeKind::kInteger;
  }

  SizeKind sizes() const { return sizes_; }
  absl::Status Reserve(size_t rows, Budget& budget) {
    TS_RETURN_IF_ERROR(Reserve(price_.type(), rows, best_price_, budget));
    return size_.has_value() ? Reserve(size_type_, rows, best_size_, budget) : absl::OkStatus();
  }
  // The quotes of rows [begin, begin + quotes.size()).
  void Read(size_t begin, std::span<BestQuotes::Quote> quotes) const;
  // The best quotes of those rows. Any thread, several at a time if their rows are not the same.
  void Write(size_t begin, std::span<const BestQuotes::Quote> best);
  Value TakePrices() { return Value::Vector(price_.type(), std::move(best_price_)); }
  Value TakeSizes() { return Value::Vector(size_type_, std::move(best_size_)); }

 private:
  static absl::Status Reserve(Type type, size_t rows, ByteBuffer& bytes, Budget& budget) {
    TS_RETURN_IF_ERROR(budget.Charge(rows, WidthOf(type)));
    bytes.reserve(rows * WidthOf(type));
    bytes.resize(rows * WidthOf(type));
    return absl::OkStatus();
  }

  bool ask_;
  Slice price_;
  std::optional<Slice> size_;
  Type size_type_ = Type::kLong;
  SizeKind sizes_ = SizeKind::kNone;
  ByteBuffer best_price_, best_size_;
};

// As the bits that BestQuotes adds up.
template <typename T>
int64_t SizeBits(Type type, T size) {
  const bool null = IsNullElement(type, size);
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<int64_t>(null ? 0.0 : double{size});
  } else {
    return null ? 0 : int64_t{size};
  }
}

void Side::Read(size_t begin, std::span<BestQuotes::Quote> quotes) const {
  const size_t end = begin + quotes.size();
  VisitElementType(price_.type(), [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      EachSpan<T>(price_, begin, end, [&](std::span<const T> prices, size_t offset) {
        for (size_t i = 0; i < prices.size(); ++i) {
          quotes[offset + i].price = KeyOfPrice(prices[i], ask_);
        }
      });
    }
  });
  if (!size_.has_value()) return;
  const Type type = size_->type();
  VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      EachSpan<T>(*size_, begin, end, [&](std::span<const T> sizes, size_t offset) {
        for (size_t i = 0; i < sizes.size(); ++i)
          quotes[offset + i].size = SizeBits(type, sizes[i]);
      });
    }
  });
}

void Side::Write(size_t begin, std::span<const BestQuotes::Quote> best) {
  const Type type = price_.type();
  VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      T* const out = reinterpret_cast<T*>(best_price_.data()) + begin;
      for (size_t i = 0; i < best.size(); ++i) {
        out[i] = PriceOfKey<T>(type, best[i].price, ask_);
      }
    }
  });
  if (!size_.has_value()) return;
  VisitElementType(size_type_, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      T* const out = reinterpret_cast<T*>(best_size_.data()) + begin;
      for (size_t i = 0; i < best.size(); ++i) {
        if (best[i].price == kNoPrice) {
          out[i] = NullElement<T>(size_type_);
        } else if constexpr (std::is_floating_point_v<T>) {
          out[i] = static_cast<T>(std::bit_cast<double>(best[i].size));
        } else {
          out[i] = static_cast<T>(best[i].size);
        }
      }
    }
  });
}

class NbboRun {
 public:
  NbboRun(ItemNumbers symbols, ItemNumbers venues, std::array<Side, 2> sides, size_t rows,
          Budget& budget)
      : symbols_(std::move(symbols)),
        venues_(std::move(venues)),
        sides_(std::move(sides)),
        rows_(rows),
        budget_(budget) {}

  absl::Status Run();
  Side& side(size_t i) { return sides_[i]; }

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

  const ItemNumbers symbols_, venues_;
  std::array<Side, 2> sides_;
  const size_t rows_;
  Budget& budget_;
  size_t parts_ = 1;
  // Of each part but the last, by symbol and venue: the number of the last row in it plus one.
  std::vector<ScratchVector<uint32_t>> last_;
};

absl::Status NbboRun::Charge() {
  size_t bytes = sizeof(uint32_t) * (parts_ - 1) * places();
  for (const Side& side : sides_) {
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
  for (Side& side : sides_) TS_RETURN_IF_ERROR(side.Reserve(rows_, budget_));
  // Parts repay their books when they have a row and more for each place in them.
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

// The books as they are where a part begins.
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
  std::array<std::optional<Side>, 2> sides;
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
  TS_ASSIGN_OR_RETURN(ItemNumbers symbols, ItemNumbers::Of(symbol, budget));
  TS_ASSIGN_OR_RETURN(ItemNumbers venues, ItemNumbers::Of(venue, budget));
  NbboRun run(std::move(symbols), std::move(venues), {*std::move(sides[0]), *std::move(sides[1])},
              table.count(), budget);
  TS_RETURN_IF_ERROR(run.Run());

  TableView result;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, table.count()));
  UniqueNames unique;
  const auto add = [&](size_t column, ViewColumn items) {
    result.names.push_back(unique.Next(table.names[column]));
    result.columns.push_back(std::move(items));
  };
  const auto add_from_table = [&](size_t column) -> absl::Status {
    ViewColumn items = ViewColumn::AtRows(table.columns[column], table.rows);
    // The items of a list decide its type (view_column.h).
    if (items.type() == Type::kList) TS_RETURN_IF_ERROR(items.Get(budget).status());
    add(column, std::move(items));
    return absl::OkStatus();
  };
  if (const int time = table.Find("time");
      time >= 0 && std::ranges::find(found, static_cast<size_t>(time)) == found.end()) {
    TS_RETURN_IF_ERROR(add_from_table(static_cast<size_t>(time)));
  }
  TS_RETURN_IF_ERROR(add_from_table(found[0]));
  for (size_t i = 0; i < 2; ++i) add(found[2 + i], ViewColumn(run.side(i).TakePrices()));
  for (size_t i = 0; sized && i < 2; ++i) add(found[4 + i], ViewColumn(run.side(i).TakeSizes()));
  return result;
}

}  // namespace tickstack::query
