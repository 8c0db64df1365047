#pragma once

// Numbers the items of a column 0, 1, 2... by their distinct values, for kernels with a state per
// value.

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"

namespace tickstack::query {

// Reentrant once it is made.
//
// Captured symbols and items of one byte, at a range of rows, are read in place, through a table of
// at most as many numbers as there are symbols. Everything else is hashed once, and its numbers
// take 4 bytes per row.
class ItemNumbers {
 public:
  // Errors: `type` and `nyi` as for KeyNumbers.
  static absl::StatusOr<ItemNumbers> Of(const Slice& slice, Budget& budget);

  size_t distinct() const { return distinct_; }
  // Reads the numbers of items [begin, begin + out.size()).
  void Read(size_t begin, std::span<uint32_t> out) const;

 private:
  explicit ItemNumbers(Slice slice) : slice_(std::move(slice)) {}
  absl::Status FindUsed(size_t codes, const Budget& budget);

  Slice slice_;
  size_t distinct_ = 0;
  ScratchVector<uint32_t> hashed_;     // By item; empty if items are their own numbers.
  ScratchVector<uint32_t> number_of_;  // By code: a byte, or a symbol's number plus one.
};

}  // namespace tickstack::query
