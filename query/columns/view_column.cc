#include "query/columns/view_column.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/gather.h"

namespace tickstack::query {

struct ViewColumn::Deferred {
  ViewColumn base;
  // The rows of the base; nullptr if there are `positions`.
  std::shared_ptr<const RowSet> rows = nullptr;
  SharedPositions positions = nullptr;  // The positions in the base; nullptr if there are `rows`.
  std::optional<ViewColumn> otherwise = std::nullopt;  // Gives the items whose position is kNoItem.
  std::shared_ptr<const RowSet> otherwise_rows = nullptr;
  // The items that follow those of the base at `rows`.
  std::optional<ViewColumn> below = std::nullopt;
  std::shared_ptr<const RowSet> below_rows = nullptr;
  int depth = 1;  // How many deferred columns lie on top of each other.
  std::optional<AnyColumn> gathered = std::nullopt;

  // Returns whether each item comes from the base alone.
  bool plain() const { return !otherwise.has_value() && !below.has_value(); }
  void Keep(AnyColumn column);
  absl::StatusOr<Value> GatherStacked(Budget& budget) const;
  absl::StatusOr<Value> Gather(Budget& budget) const;
  absl::StatusOr<Value> GatherOr(const AnyColumn& from, Budget& budget) const;
  absl::StatusOr<Value> GatherAt(const RowSet& at, Budget& budget) const;
};

struct ViewColumn::Stored {
  std::shared_ptr<const StoredParts> parts;
  size_t column;
  std::optional<AnyColumn> opened = std::nullopt;
};

// Keeps the gathered column and drops what it was gathered from.
void ViewColumn::Deferred::Keep(AnyColumn column) {
  gathered = column;
  base = ViewColumn(std::move(column));
  otherwise.reset();
  below.reset();
  depth = 1;
}

absl::StatusOr<Value> ViewColumn::Deferred::GatherStacked(Budget& budget) const {
  TS_ASSIGN_OR_RETURN(const Slice above, base.SliceAt(rows, budget));
  TS_ASSIGN_OR_RETURN(const Slice under, below->SliceAt(below_rows, budget));
  TS_ASSIGN_OR_RETURN(const Value top, Materialise(above, budget));
  TS_ASSIGN_OR_RETURN(const Value bottom, Materialise(under, budget));
  return Join(top, bottom, budget);
}

// Gathers both sides as one vector, and then the items out of it.
absl::StatusOr<Value> ViewColumn::Deferred::GatherOr(const AnyColumn& from, Budget& budget) const {
  TS_ASSIGN_OR_RETURN(const AnyColumn instead, otherwise->Get(budget));
  TS_ASSIGN_OR_RETURN(const Value left, Materialise(Slice{instead, otherwise_rows}, budget));
  TS_ASSIGN_OR_RETURN(const Value right, GatherRows(from, *positions, budget));
  TS_ASSIGN_OR_RETURN(const Value both, Join(left, right, budget));
  ScratchVector<uint32_t> of_both(positions->size());
  const auto n = static_cast<uint32_t>(positions->size());
  for (uint32_t i = 0; i < n; ++i) of_both[i] = (*positions)[i] == kNoItem ? i : n + i;
  return TakeItems(both, of_both);
}

absl::StatusOr<Value> ViewColumn::Deferred::Gather(Budget& budget) const {
  if (below.has_value()) return GatherStacked(budget);
  TS_ASSIGN_OR_RETURN(const AnyColumn from, base.Get(budget));
  if (rows != nullptr) return Materialise(Slice{from, rows}, budget);
  if (otherwise.has_value()) return GatherOr(from, budget);
  return GatherRows(from, *positions, budget);
}

// Gathers only some of the items of a plain column.
absl::StatusOr<Value> ViewColumn::Deferred::GatherAt(const RowSet& at, Budget& budget) const {
  TS_ASSIGN_OR_RETURN(const AnyColumn from, base.Get(budget));
  TS_RETURN_IF_ERROR(budget.Charge(at.count(), sizeof(uint32_t)));
  ScratchVector<uint32_t> some = at.ToVector();
  if (rows == nullptr) {
    for (uint32_t& i : some) i = (*positions)[i];
  } else if (rows->is_range()) {
    for (uint32_t& i : some) i += static_cast<uint32_t>(rows->begin_row());
  } else if (rows->has_ranges()) {
    for (uint32_t& i : some) i = static_cast<uint32_t>(rows->At(i));
  } else {  // Both ascend, so the search goes on from where the last one ended.
    size_t run = 0, before = 0;
    for (uint32_t& i : some) {
      while (i - before >= rows->runs()[run].rows.size()) before += rows->runs()[run++].rows.size();
      i = rows->runs()[run].rows[i - before];
    }
  }
  return GatherRows(from, some, budget);
}

ViewColumn::ViewColumn(AnyColumn column) : column_(std::move(column)) {}

ViewColumn::ViewColumn(Deferred deferred) {
  int below = deferred.base.depth();
  if (deferred.otherwise.has_value()) below = std::max(below, deferred.otherwise->depth());
  if (deferred.below.has_value()) below = std::max(below, deferred.below->depth());
  deferred.depth = below + 1;
  deferred_ = std::make_shared<Deferred>(std::move(deferred));
}

ViewColumn::ViewColumn(std::shared_ptr<const StoredParts> parts, size_t column)
    : stored_(std::make_shared<Stored>(Stored{std::move(parts), column})) {}

ViewColumn ViewColumn::AtRows(ViewColumn base, std::shared_ptr<const RowSet> rows) {
  if (rows->is_range() && rows->begin_row() == 0) return base;
  return ViewColumn(Deferred{std::move(base), std::move(rows)});
}

ViewColumn ViewColumn::AtPositions(ViewColumn base, SharedPositions positions) {
  return ViewColumn(Deferred{std::move(base), nullptr, std::move(positions)});
}

ViewColumn ViewColumn::AtPositionsOr(ViewColumn base, SharedPositions positions,
                                     ViewColumn otherwise,
                                     std::shared_ptr<const RowSet> otherwise_rows) {
  TS_CHECK(otherwise.type() == base.type() && otherwise_rows->count() == positions->size());
  return ViewColumn(Deferred{std::move(base), nullptr, std::move(positions), std::move(otherwise),
                             std::move(otherwise_rows)});
}

ViewColumn ViewColumn::Stacked(ViewColumn top, std::shared_ptr<const RowSet> top_rows,
                               ViewColumn bottom, std::shared_ptr<const RowSet> bottom_rows) {
  TS_CHECK(top.type() == bottom.type());
  Deferred stacked{std::move(top), std::move(top_rows)};
  stacked.below = std::move(bottom);
  stacked.below_rows = std::move(bottom_rows);
  return ViewColumn(std::move(stacked));
}

int ViewColumn::depth() const { return is_deferred() ? deferred_->depth : 0; }

absl::Status ViewColumn::Settle(Budget& budget) const {
  constexpr int kMaxDeferred = 16;
  const bool settled = type() != Type::kList && depth() <= kMaxDeferred;
  return settled ? absl::OkStatus() : Get(budget).status();
}

const AnyColumn* ViewColumn::gathered() const {
  const std::optional<AnyColumn>& column = stored_ != nullptr     ? stored_->opened
                                           : deferred_ == nullptr ? column_
                                                                  : deferred_->gathered;
  return column.has_value() ? &*column : nullptr;
}

Type ViewColumn::type() const {
  if (stored_ != nullptr) {
    return stored_->parts->table().schema().columns[stored_->column].type;
  }
  const AnyColumn* const column = gathered();
  return column != nullptr ? column->type() : deferred_->base.type();
}

size_t ViewColumn::rows() const {
  if (stored_ != nullptr) return stored_->parts->rows();
  if (deferred_ == nullptr) return column_->rows();
  if (deferred_->rows == nullptr) return deferred_->positions->size();
  return deferred_->rows->count() +
         (deferred_->below_rows == nullptr ? 0 : deferred_->below_rows->count());
}

absl::Status ViewColumn::Open(Budget& budget) const {
  if (stored_ == nullptr || stored_->opened.has_value()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const StoredColumn> opened,
                      StoredColumn::Open(stored_->parts, stored_->column, budget));
  stored_->opened.emplace(std::move(opened));
  return absl::OkStatus();
}

absl::StatusOr<Attribute> ViewColumn::attribute() const {
  if (stored_ != nullptr) return stored_->parts->table().AttributeOf(stored_->column);
  const AnyColumn* const column = gathered();
  if (column == nullptr) return Attribute::kNone;
  if (column->value() != nullptr) return column->value()->attribute();
  return column->indexed() ? Attribute::kGrouped : Attribute::kNone;
}

absl::StatusOr<AnyColumn> ViewColumn::Get(Budget& budget) const {
  TS_RETURN_IF_ERROR(Open(budget));
  if (const AnyColumn* const column = gathered()) return *column;
  TS_ASSIGN_OR_RETURN(Value value, deferred_->Gather(budget));
  deferred_->Keep(AnyColumn(std::move(value)));
  return *deferred_->gathered;
}

absl::StatusOr<Slice> ViewColumn::SliceAt(const std::shared_ptr<const RowSet>& at,
                                          Budget& budget) const {
  TS_RETURN_IF_ERROR(Open(budget));
  const bool few = gathered() == nullptr && IsFixedWidth(type()) && deferred_->plain() &&
                   at->count() < rows() / 4;
  if (few) {
    TS_ASSIGN_OR_RETURN(Value some, deferred_->GatherAt(*at, budget));
    return Slice::Of(std::move(some));
  }
  TS_ASSIGN_OR_RETURN(AnyColumn column, Get(budget));
  return Slice{std::move(column), at};
}

absl::StatusOr<AnyColumn> ViewColumn::Take(Budget& budget) && {
  TS_ASSIGN_OR_RETURN(AnyColumn column, Get(budget));
  deferred_.reset();
  stored_.reset();
  column_.reset();
  return column;
}

absl::StatusOr<Slice> ViewColumn::TakeAt(const std::shared_ptr<const RowSet>& at,
                                         Budget& budget) && {
  TS_ASSIGN_OR_RETURN(Slice slice, SliceAt(at, budget));
  deferred_.reset();
  stored_.reset();
  column_.reset();
  return slice;
}

absl::Status ViewColumn::GatherAll(std::span<const ViewColumn> columns, Budget& budget) {
  std::vector<Deferred*> owners;
  std::vector<ColumnCopy> copies;
  for (const ViewColumn& column : columns) {
    TS_RETURN_IF_ERROR(column.Open(budget));
    Deferred* const deferred = column.deferred_.get();
    if (column.gathered() != nullptr || std::ranges::find(owners, deferred) != owners.end()) {
      continue;
    }
    if (!IsFixedWidth(column.type()) || !deferred->plain()) {
      TS_RETURN_IF_ERROR(column.Get(budget).status());
      continue;
    }
    TS_ASSIGN_OR_RETURN(AnyColumn base, deferred->base.Get(budget));
    owners.push_back(deferred);
    if (deferred->rows != nullptr) {
      copies.emplace_back(Slice{std::move(base), deferred->rows});
    } else {
      copies.emplace_back(std::move(base), *deferred->positions);
    }
  }
  TS_RETURN_IF_ERROR(CopyAll(copies, budget));
  for (size_t i = 0; i < owners.size(); ++i) {
    owners[i]->Keep(AnyColumn(std::move(copies[i]).Finish()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> ViewColumn::At(size_t row) const {
  if (const AnyColumn* const column = gathered()) return column->At(row);
  if (stored_ != nullptr) return stored_->parts->At(stored_->column, row);
  if (deferred_->rows != nullptr) {
    const size_t above = deferred_->rows->count();
    if (row < above) return deferred_->base.At(deferred_->rows->At(row));
    return deferred_->below->At(deferred_->below_rows->At(row - above));
  }
  const uint32_t position = (*deferred_->positions)[row];
  if (position != kNoItem) return deferred_->base.At(position);
  if (!deferred_->otherwise.has_value()) return NullOf(type());
  return deferred_->otherwise->At(deferred_->otherwise_rows->At(row));
}

}  // namespace tickstack::query
