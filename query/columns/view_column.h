#pragma once

// A column of a TableView. There are three kinds:
//
//   available   an AnyColumn
//   stored      a column whose files are opened when it is first needed
//   deferred    a column that is gathered from others when it is first needed. It refers to a base
//               column, and has for each row a position in it; kNoItem means a null, or the item
//               that a second column has in this row. Or it is stacked: it has the items of one
//               column, then those of another.
//
// So if a query names three columns of a join of wide tables, only these three are gathered.
//
// Invariants:
//
// - The type of a deferred column is known, and gathering does not change it.
// - A list is not deferred, because its type can depend on its items: Settle gathers it. Settle
//   also gathers a column that is deferred over too many levels, so that no loop over a table
//   builds a chain of columns that exceeds the stack.
// - A gathered column is kept, and copies of the ViewColumn share it. Only the first user's budget
//   is charged. Therefore a column that is needed within Budget::Temporaries, which would give that
//   charge back, is gathered before (query/grouping/grouped.cc does so for groups).
//
// Threads: one evaluation, one thread, like Budget.

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
  ViewColumn(AnyColumn column);  // NOLINT(google-explicit-constructor): a conversion without loss.
  explicit ViewColumn(Value vector) : ViewColumn(AnyColumn(std::move(vector))) {}
  // A stored column that is not open yet.
  ViewColumn(std::shared_ptr<const StoredParts> parts, size_t column);

  // Returns the items of `base` at `rows`. Returns `base` itself if `rows` are a range from row 0.
  static ViewColumn AtRows(ViewColumn base, std::shared_ptr<const RowSet> rows);
  // Returns the items of `base` at `positions`, with its type's null for kNoItem.
  static ViewColumn AtPositions(ViewColumn base, SharedPositions positions);
  // Returns the items of `base` at `positions`. Where position i is kNoItem, the item is that of
  // `otherwise` at the i-th of `otherwise_rows`. Both columns have the same type.
  static ViewColumn AtPositionsOr(ViewColumn base, SharedPositions positions, ViewColumn otherwise,
                                  std::shared_ptr<const RowSet> otherwise_rows);

  // Returns the items of `top` at `top_rows`, then those of `bottom` at `bottom_rows`. Both columns
  // have the same type.
  static ViewColumn Stacked(ViewColumn top, std::shared_ptr<const RowSet> top_rows,
                            ViewColumn bottom, std::shared_ptr<const RowSet> bottom_rows);

  // Gathers the column if it must not stay deferred (see above). Code that creates deferred columns
  // calls it.
  absl::Status Settle(Budget& budget) const;

  Type type() const;    // See AnyColumn::type.
  size_t rows() const;  // See AnyColumn::rows.

  // Returns the column. The first call gathers a deferred column, or opens the files of a stored
  // one; later calls are cheap.
  absl::StatusOr<AnyColumn> Get(Budget& budget) const;
  // Returns the column's items at rows `at`. If these are few rows of a deferred column, only they
  // are gathered: the slice gets a column of its own, and this one stays deferred.
  absl::StatusOr<Slice> SliceAt(const std::shared_ptr<const RowSet>& at, Budget& budget) const;
  // Like Get and SliceAt, but move the data out of this column. If nothing else shared the data,
  // the caller is then its only owner.
  absl::StatusOr<AnyColumn> Take(Budget& budget) &&;
  absl::StatusOr<Slice> TakeAt(const std::shared_ptr<const RowSet>& at, Budget& budget) &&;
  // Gathers all deferred columns together: all threads help with all columns.
  static absl::Status GatherAll(std::span<const ViewColumn> columns, Budget& budget);
  // Returns the column if it needs neither gathering nor opening; nullptr otherwise.
  const AnyColumn* gathered() const;
  // True if the column is deferred and was not gathered yet.
  bool is_deferred() const {
    return !column_.has_value() && deferred_ != nullptr && gathered() == nullptr;
  }
  // Opens the files of a stored column. Must be called before gathered() is used.
  absl::Status Open(Budget& budget) const;
  // Returns the attribute that `meta` shows, or the error of a stored column's file.
  absl::StatusOr<Attribute> attribute() const;
  // Returns one item, without gathering the others. See AnyColumn::At.
  absl::StatusOr<Value> At(size_t row) const;

 private:
  struct Deferred;
  struct Stored;
  explicit ViewColumn(Deferred deferred);
  int depth() const;  // Levels of deferred columns below it; 0 if it is not deferred.

  std::optional<AnyColumn> column_;     // An available column.
  std::shared_ptr<Deferred> deferred_;  // nullptr if it is not deferred.
  std::shared_ptr<Stored> stored_;
};

}  // namespace tickstack::query
