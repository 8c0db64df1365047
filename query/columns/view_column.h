#pragma once

// A column of a TableView: an available one; a stored one, whose files are opened when it is first
// needed; or a deferred one, which is gathered from another column when it is first needed. So a
// join of tables with twenty columns each costs no more than the three columns that its query
// names.
//
//   deferred   base column, and for each row the position there, or a position that means null
//              (or: the item that `otherwise` has in this row)
//   stacked    the items of a base column, and below them those of another one
//
// Invariants. A deferred column has one item per position. Its type is known without gathering, and
// gathering does not change it. Since the items of a list can decide its type, a list must not stay
// deferred: Settle gathers it. That also bounds how deep deferred columns are stacked, so that no
// loop over a table builds a chain that exceeds the stack. Gathering charges the budget of the
// first user only: the result is kept, and copies of the column share it. Gathering within
// Budget::Temporaries would keep more than is charged, so it is done before
// (query/language/select.cc does so for groups).
//
// Threads: one evaluation, one thread, as a budget.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"

namespace tickstack::query {

using SharedPositions = std::shared_ptr<const ScratchVector<uint32_t>>;

// Cheap to copy.
class ViewColumn {
 public:
  ViewColumn(AnyColumn column);  // NOLINT(google-explicit-constructor): a column is one of a view.
  explicit ViewColumn(Value vector) : ViewColumn(AnyColumn(std::move(vector))) {}
  // A stored column, not open yet.
  ViewColumn(std::shared_ptr<const StoredParts> parts, size_t column);

  // Returns the items of `base` at `rows`; `base` itself if those are its first rows.
  static ViewColumn AtRows(ViewColumn base, std::shared_ptr<const RowSet> rows);
  // Returns the items of `base` at `positions`, with its type's null for kNoItem.
  static ViewColumn AtPositions(ViewColumn base, SharedPositions positions);
  // The same, but where a position is kNoItem, the item of `otherwise`, which has the type of
  // `base` and a row of `otherwise_rows` for each position.
  static ViewColumn AtPositionsOr(ViewColumn base, SharedPositions positions, ViewColumn otherwise,
                                  std::shared_ptr<const RowSet> otherwise_rows);

  // Returns the items of `top` at `top_rows`, then those of `bottom`, of the same type, at
  // `bottom_rows`.
  static ViewColumn Stacked(ViewColumn top, std::shared_ptr<const RowSet> top_rows,
                            ViewColumn bottom, std::shared_ptr<const RowSet> bottom_rows);

  // Gathers a deferred column that must not stay deferred. Code that creates deferred columns calls
  // it.
  absl::Status Settle(Budget& budget) const;

  Type type() const;    // As AnyColumn::type.
  size_t rows() const;  // As AnyColumn::rows.

  // Returns the column, after gathering it if it was deferred, or opening its files if it is
  // stored. Only the first call has a cost.
  absl::StatusOr<AnyColumn> Get(Budget& budget) const;
  // Returns the column's items at rows `at`. If these are few rows of a deferred column, only they
  // are gathered, and are not kept; the slice then refers to a column of its own.
  absl::StatusOr<Slice> SliceAt(const std::shared_ptr<const RowSet>& at, Budget& budget) const;
  // Both consume this column: the caller becomes the only owner of data that only this column held.
  absl::StatusOr<AnyColumn> Take(Budget& budget) &&;
  absl::StatusOr<Slice> TakeAt(const std::shared_ptr<const RowSet>& at, Budget& budget) &&;
  // Gathers all deferred columns together: all threads help with all columns.
  static absl::Status GatherAll(std::span<const ViewColumn> columns, Budget& budget);
  // Returns the column if there is nothing left to gather or open; nullptr otherwise.
  const AnyColumn* gathered() const;
  // True if the column is gathered only when its elements are needed.
  bool is_deferred() const {
    return !column_.has_value() && deferred_ != nullptr && gathered() == nullptr;
  }
  // Opens the files of a stored column. Must be called before gathered() is used.
  absl::Status Open(Budget& budget) const;
  // The attribute that `meta` shows; the error of a stored column's file.
  absl::StatusOr<Attribute> attribute() const;
  // One item, without gathering the others. As AnyColumn::At.
  absl::StatusOr<Value> At(size_t row) const;

 private:
  struct Deferred;
  struct Stored;
  explicit ViewColumn(Deferred deferred);
  int depth() const;  // Levels of deferred columns; 0 if it is available.

  std::optional<AnyColumn> column_;     // An available column.
  std::shared_ptr<Deferred> deferred_;  // nullptr if it is one of the others.
  std::shared_ptr<Stored> stored_;
};

}  // namespace tickstack::query
