#include "query/indexed_side.h"

namespace tickstack::query {

std::optional<IndexedSide> IndexedSide::Make(const TableView& view, size_t key_column,
                                             size_t time_column) {
  const Column* const key = view.columns[key_column].gathered();
  const Column* const time = view.columns[time_column].gathered();
  if (key == nullptr || time == nullptr || !key->captured() || !time->captured()) {
    return std::nullopt;
  }
  const Snapshot& snapshot = key->snapshot();
  if (&snapshot != &time->snapshot()) return std::nullopt;
  if (snapshot.table().indexed_column() != static_cast<int>(key->index())) return std::nullopt;
  if (snapshot.schema().columns[time->index()].name != "time") return std::nullopt;
  IndexedSide side(*key, *time, view.rows);
  if (view.rows->IsAllOf(snapshot.rows())) return side;
  // Rows with times come out of the index, and for one symbol.
  if (!view.rows->has_sorted_times()) return std::nullopt;
  const size_t first_row = view.rows->At(0);
  const ChunkLayout::Chunk chunk = key->layout().ChunkOf(first_row);
  side.only_ = key->Chunk<SymbolId>(chunk.number)[first_row - chunk.begin_row];
  return side;
}

RowSet IndexedSide::RowsOf(SymbolId symbol) const {
  if (only_.has_value()) return *only_ == symbol ? *rows_ : RowSet();
  std::optional<Postings> postings = key_.snapshot().RowsOf(symbol);
  return postings.has_value() ? RowSet::OfPostings(*postings) : RowSet();
}

RowSet IndexedSide::RowsOf(std::string_view name) const {
  const std::optional<SymbolId> id =
      name.empty() ? std::optional(kNullSymbol) : symbols().Find(name);
  return id.has_value() ? RowsOf(*id) : RowSet();
}

}  // namespace tickstack::query
