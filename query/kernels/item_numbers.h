#pragma once

// Gives each distinct value of a column a number 0, 1, 2..., for kernels that keep a state per
// value.

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"

namespace tickstack::query {

// Reentrant.
//
// Symbols with ids, and items of one byte, are read in place if the slice is a range of rows of a
// direct column: an array has the number of each symbol or byte. Other items are hashed once, and
// their numbers take 4 bytes per row.
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
  ScratchVector<uint32_t> hashed_;     // By item; empty if items are read in place.
  ScratchVector<uint32_t> number_of_;  // By code, which is a byte, or a symbol's id plus one.
};

}  // namespace tickstack::query
