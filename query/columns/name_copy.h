#pragma once

// Copies names into symbol columns of results, which may have millions of items but only a few
// thousand distinct names.
//
//   number  2 0 2 1 ...   ->   text  | CIB | IBM | AIG |    ->   "AIG" "IBM" "AIG" "CIB" ...
//
// A name of less than 16 bytes is copied as 16 bytes, and the next name overwrites the surplus, so
// no call and no branch depends on a length. The cost is that of writing memory: for each item, its
// text and the 8-byte position of its end. All threads write.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Names, with numbers 0, 1, 2... in the order of Add. Borrows the texts of long names (16 bytes and
// more).
class NumberedNames {
 public:
  static constexpr size_t kBytes = 32;  // Bytes to charge for each name.

  void reserve(size_t names) { names_.reserve(names); }
  void Add(std::string_view name);  // `name` must not contain NUL.
  size_t size() const { return names_.size(); }

  // Returns the names of `numbers`, which are below size(). Cost: 2 to 4 ns per item if the names
  // that occur fit into the cache; all threads help. Charges the budget.
  absl::StatusOr<Value> Copy(std::span<const uint32_t> numbers, Budget& budget) const;

 private:
  static constexpr size_t kShort = 16;  // With its NUL.

  struct Name {
    std::array<char, kShort> text;  // The first bytes, then NULs.
    const char* whole;              // The caller's text.
    size_t bytes;                   // With its NUL.
  };
  static_assert(sizeof(Name) == kBytes);

  void CopyTo(std::span<const uint32_t> numbers, size_t begin, char* text, size_t end,
              size_t* ends) const;

  ScratchVector<Name> names_;
};

// Returns the names at `positions` of a symbol vector, with the empty name for kNoItem.
absl::StatusOr<Value> CopyNames(const Value& vector, std::span<const uint32_t> positions,
                                Budget& budget);

}  // namespace tickstack::query
