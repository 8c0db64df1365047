#pragma once

// The items of a column as numbers 0, 1, 2... of its distinct values, for kernels that keep
// something for each value.

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"

namespace tickstack::query {

// Reentrant once it is made.
//
// Captured symbols and items of one byte, at a range of rows, are read where they lie, through a
// table of at most as many numbers as there are symbols; everything else is hashed once, and its
// numbers take 4 bytes a row.
class ItemNumbers {
 public:
  // `type` and `nyi` as KeyNumbers.
  static absl::StatusOr<ItemNumbers> Of(const Slice& slice, Budget& budget);

  size_t distinct() const { return distinct_; }
  // The numbers of items [begin, begin + out.size()).
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
