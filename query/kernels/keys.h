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

// Numbers the distinct tuples of some columns 0, 1, 2... in order of first appearance. Grouping and
// joining hash once, and then count and index by number. Several calls share the numbers, for the
// two sides of a join.
//
// Cost: a hash per row and column; for a captured symbol column an array lookup. The items of a
// nested column are encoded first, and the distinct ones kept.
class KeyNumbers {
 public:
  explicit KeyNumbers(size_t columns) : columns_(columns) {}

  // Returns one number per row. The columns have equal counts and, over all calls, equal types:
  // `type` if not. Their names are borrowed: the columns must live as long as this object.
  absl::StatusOr<ScratchVector<uint32_t>> Number(std::span<const Slice> columns, Budget& budget);
  uint32_t size() const { return next_; }  // Numbers given so far.

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
  // By column from the second on: (number so far, number in the column) to number.
  std::vector<KeyTable<uint64_t>> pairs_;
  uint32_t next_ = 0;
};

// The rows of each group, from a group number per row: `rows_of(g)` ascends.
class Grouping {
 public:
  Grouping(std::span<const uint32_t> numbers, uint32_t groups);
  uint32_t groups() const { return static_cast<uint32_t>(ends_.size()); }
  std::span<const uint32_t> PositionsOf(uint32_t group) const {
    const auto [begin, end] = RangeOf(group);
    return positions().subspan(begin, end - begin);
  }
  // Return the rows of all groups, group after group, and where each group starts among them.
  std::span<const uint32_t> positions() const { return positions_; }
  std::pair<size_t, size_t> RangeOf(uint32_t group) const {
    return {group == 0 ? 0 : ends_[group - 1], ends_[group]};
  }

 private:
  ScratchVector<uint32_t> positions_;
  ScratchVector<size_t> ends_;
};

}  // namespace tickstack::query
