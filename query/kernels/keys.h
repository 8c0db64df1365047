#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/kernels/key_table.h"

namespace tickstack::query {

// Gives the distinct tuples of some columns the numbers 0, 1, 2... in order of first appearance, so
// that grouping and joining hash only once and then count and index by number. All calls of Number
// use the same numbers, so that a join can number its two sides.
//
// Cost: a hash per row and column; for a captured symbol column, an array lookup. The items of a
//       nested column are encoded, and the distinct encodings are kept.
class KeyNumbers {
 public:
  explicit KeyNumbers(size_t columns) : columns_(columns) {}

  // Returns one number per row. Symbol names are borrowed, so the columns must live as long as this
  // object. Errors: `length` for columns of different counts, `type` for columns that have other
  // types than in an earlier call.
  absl::StatusOr<ScratchVector<uint32_t>> Number(std::span<const Slice> columns, Budget& budget);
  uint32_t size() const { return next_; }  // How many numbers are in use.

 private:
  struct PerColumn {
    bool used = false;
    Type type = Type::kList;
    KeyTable<std::string_view> names;
    KeyTable<uint64_t> bits;
    KeyTable<GuidKey> guids;
    std::deque<std::string> encodings;  // Items of nested columns, to which `names` refers.
    uint32_t size() const { return names.size() + bits.size() + guids.size(); }
  };
  static absl::StatusOr<ScratchVector<uint32_t>> NumberNested(const Slice& slice, PerColumn& known,
                                                              Budget& budget);
  absl::StatusOr<ScratchVector<uint32_t>> NumberColumn(const Slice& slice, PerColumn& known,
                                                       Budget& budget);

  std::vector<PerColumn> columns_;
  // For each column from the second on: the pair of the number of the tuple of the columns before
  // it and the column's own number, to the number of the longer tuple.
  std::vector<KeyTable<uint64_t>> pairs_;
  uint32_t next_ = 0;
};

// The positions of each group's rows, in ascending order, computed from a group number per row.
class Grouping {
 public:
  Grouping(std::span<const uint32_t> numbers, uint32_t groups);
  uint32_t groups() const { return static_cast<uint32_t>(ends_.size()); }
  std::span<const uint32_t> PositionsOf(uint32_t group) const {
    const auto [begin, end] = RangeOf(group);
    return positions().subspan(begin, end - begin);
  }
  // Returns the positions of all groups, group after group.
  std::span<const uint32_t> positions() const { return positions_; }
  // Returns the begin and the end of a group in positions().
  std::pair<size_t, size_t> RangeOf(uint32_t group) const {
    return {group == 0 ? 0 : ends_[group - 1], ends_[group]};
  }

 private:
  ScratchVector<uint32_t> positions_;
  ScratchVector<size_t> ends_;
};

}  // namespace tickstack::query
