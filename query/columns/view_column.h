#pragma once

// A column of a TableView: one that is there; a stored one whose files are opened when somebody
// first needs it; or a deferred one, which is gathered from another
// column when somebody first needs it. A join of tables with twenty columns each then costs what
// the three that its query names cost.
//
//   deferred   base column, and for each row the position there, or a position that means null
//              (or: the item that `otherwise` has in this row)
//   stacked    the items of a base column, and below them those of another one
//
// Invariants. A deferred column has one item a position. Its type is known without gathering and
// does not change by it; since the items of a list can decide its type, whoever defers a list
// gathers it at once, as Settle does. That also bounds how deep deferred columns are on each other,
// so that no loop over a table builds a chain that is longer than the stack. Gathering charges the
// budget of the first user only: the result is kept, and copies of the column share it. Gathering
// inside of Budget::Temporaries would keep more than is charged, so it is done before
// (query/language/select.cc does so for groups).
//
// Threads: one evaluation, one thread, as a budget.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"

namespace tickstack::query {

using SharedPositions = std::shared_ptr<const ScratchVector<uint32_t>>;

// Cheap to copy.
class ViewColumn {
 public:
  ViewColumn(Column column);  // NOLINT(google-explicit-constructor): a column is one of a view.
  explicit ViewColumn(Value vector) : ViewColumn(Column(std::move(vector))) {}
  // A stored column, not open yet.
  ViewColumn(std::shared_ptr<const StoredParts> parts, size_t column);

  // The items of `base` at `rows`; `base` itself if those are its first rows.
  static ViewColumn AtRows(ViewColumn base, std::shared_ptr<const RowSet> rows);
  // The items of `base` at `positions`, its type's null for kNoItem.
  static ViewColumn AtPositions(ViewColumn base, SharedPositions positions);
  // The same, and where a position is kNoItem the item of `otherwise`, which has the type of `base`
  // and a row of `otherwise_rows` for each position.
  static ViewColumn AtPositionsOr(ViewColumn base, SharedPositions positions, ViewColumn otherwise,
                                  std::shared_ptr<const RowSet> otherwise_rows);

  // The items of `top` at `top_rows`, then those of `bottom`, which has its type, at `bottom_rows`.
  static ViewColumn Stacked(ViewColumn top, std::shared_ptr<const RowSet> top_rows,
                            ViewColumn bottom, std::shared_ptr<const RowSet> bottom_rows);

  // Gathers a deferred column that must not stay deferred. Code that makes deferred columns calls
  // it.
  absl::Status Settle(Budget& budget) const;

  Type type() const;    // As Column::type.
  size_t rows() const;  // As Column::rows.

  // The column, gathered if it was deferred, its files opened if it is stored. Cost: the first time
  // a gather of its rows, or the opening.
  absl::StatusOr<Column> Get(Budget& budget) const;
  // The column's items at rows `at`. If these are few of a deferred column, only they are gathered,
  // and are not kept; the slice is then one of a column of their own.
  absl::StatusOr<Slice> SliceAt(const std::shared_ptr<const RowSet>& at, Budget& budget) const;
  // Both consume this column: the caller becomes the only owner of what only this column held.
  absl::StatusOr<Column> Take(Budget& budget) &&;
  absl::StatusOr<Slice> TakeAt(const std::shared_ptr<const RowSet>& at, Budget& budget) &&;
  // Gathers all that are deferred, together: all threads help with all columns.
  static absl::Status GatherAll(std::span<const ViewColumn> columns, Budget& budget);
  // The column, if nothing is left to gather or open; nullptr otherwise.
  const Column* gathered() const;
  // It will be gathered when somebody needs its elements.
  bool is_deferred() const {
    return !column_.has_value() && deferred_ != nullptr && gathered() == nullptr;
  }
  // Opens the files of a stored column. Must be called before gathered() is used.
  absl::Status Open(Budget& budget) const;
  // The attribute that `meta` tells.
  Attribute attribute() const;
  // One item, without gathering the others. As Column::At.
  absl::StatusOr<Value> At(size_t row) const;

 private:
  struct Deferred;
  struct Stored;
  explicit ViewColumn(Deferred deferred);
  int depth() const;  // Deferred columns on each other; 0 for one that is there.

  std::optional<Column> column_;        // One that is there.
  std::shared_ptr<Deferred> deferred_;  // nullptr: column_ or stored_.
  std::shared_ptr<Stored> stored_;
};

}  // namespace tickstack::query
