#include "query/joins/indexed_side.h"

#include <algorithm>
#include <utility>

#include "query/kernels/symbol_rows.h"

namespace tickstack::query {

namespace {

// Returns the rows that are in both sets, neither of which has runs.
RowSet Common(const RowSet& of_symbol, const RowSet& of_view) {
  std::vector<disk::RowRange> common;
  const auto cut = [&](size_t begin_row, size_t end_row) {
    EachRangeOf(of_view, [&](size_t from, size_t to) {
      const size_t begin = std::max(begin_row, from), end = std::min(end_row, to);
      if (begin < end) common.push_back({begin, end});
    });
  };
  EachRangeOf(of_symbol, cut);
  return RowSet::FromRanges(common);
}

size_t PlaceOf(SymbolId id) { return id == kNullSymbol ? 0 : static_cast<size_t>(id) + 1; }

}  // namespace

absl::Status IndexedSide::FindStoredRows(Budget& budget) {
  TS_ASSIGN_OR_RETURN(const SymbolRows all, SymbolRows::All(key_, *rows_, budget));
  TS_RETURN_IF_ERROR(budget.Charge(static_cast<size_t>(symbols().size()) + 1,
                                   sizeof(std::shared_ptr<const RowSet>)));
  auto by_symbol = std::make_shared<std::vector<std::shared_ptr<const RowSet>>>(
      static_cast<size_t>(symbols().size()) + 1);
  for (size_t i = 0; i < all.count(); ++i) {
    (*by_symbol)[PlaceOf(all.IdOf(i))] =
        whole() ? all.RowsOf(i) : std::make_shared<const RowSet>(Common(*all.RowsOf(i), *rows_));
  }
  stored_rows_ = std::move(by_symbol);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<IndexedSide>> IndexedSide::Make(const TableView& view,
                                                             size_t key_column, size_t time_column,
                                                             Budget& budget) {
  TS_RETURN_IF_ERROR(view.columns[key_column].Open(budget));
  TS_RETURN_IF_ERROR(view.columns[time_column].Open(budget));
  const AnyColumn* const key = view.columns[key_column].gathered();
  const AnyColumn* const time = view.columns[time_column].gathered();
  if (key != nullptr && time != nullptr && key->stored() != nullptr && time->stored() != nullptr) {
    if (!key->indexed() || !view.rows->runs().empty()) return std::nullopt;
    IndexedSide side(*key, *time, view.rows);
    TS_RETURN_IF_ERROR(side.FindStoredRows(budget));
    return side;
  }
  if (key == nullptr || time == nullptr || !key->captured() || !time->captured()) {
    return std::nullopt;
  }
  const Snapshot& snapshot = key->snapshot();
  if (&snapshot != &time->snapshot()) return std::nullopt;
  if (snapshot.table().indexed_column() != static_cast<int>(key->index())) return std::nullopt;
  if (snapshot.schema().columns[time->index()].name != "time") return std::nullopt;
  IndexedSide side(*key, *time, view.rows);
  if (view.rows->IsAllOf(snapshot.rows())) return side;
  // Only an index gives rows with times, and only for one symbol.
  if (!view.rows->has_sorted_times()) return std::nullopt;
  mem::MediumAccess access(key->medium());
  side.only_ = key->IdAt(view.rows->At(0));
  access.ReadChained(1);
  return side;
}

RowSet IndexedSide::RowsOf(SymbolId symbol) const {
  if (stored_rows_ != nullptr) {
    const size_t place = PlaceOf(symbol);
    const bool known = place < stored_rows_->size() && (*stored_rows_)[place] != nullptr;
    return known ? *(*stored_rows_)[place] : RowSet();
  }
  if (only_.has_value()) return *only_ == symbol ? *rows_ : RowSet();
  std::optional<Postings> postings = key_.snapshot().RowsOf(symbol);
  return postings.has_value() ? RowSet::FromPostings(*postings) : RowSet();
}

RowSet IndexedSide::RowsOf(std::string_view name) const {
  const std::optional<SymbolId> id =
      name.empty() ? std::optional(kNullSymbol) : symbols().Find(name);
  return id.has_value() ? RowsOf(*id) : RowSet();
}

}  // namespace tickstack::query
