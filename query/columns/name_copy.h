#pragma once

// Copies names: symbol columns of results, where a few thousand distinct names make millions of
// items.
//
//   number  2 0 2 1 ...   ->   text  | CIB | IBM | AIG |    ->   "AIG" "IBM" "AIG" "CIB" ...
//
// A name of less than 16 bytes is copied as 16 bytes, and the next name overwrites the surplus: no
// call and no branch depends on a length. The bound is memory: 8 bytes for each item's end, and its
// text, are written once, by all threads.

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

// Names by their numbers 0, 1, 2... Borrows the texts of names of 16 bytes and more.
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
    const char* whole;
    size_t bytes;  // With its NUL.
  };
  static_assert(sizeof(Name) == kBytes);

  void CopyTo(std::span<const uint32_t> numbers, size_t begin, char* text, size_t end,
              size_t* ends) const;

  ScratchVector<Name> names_;
};

// Copies the names at `positions` of a symbol vector in the same way; kNoItem: the empty name.
absl::StatusOr<Value> CopyNames(const Value& vector, std::span<const uint32_t> positions,
                                Budget& budget);

}  // namespace tickstack::query
