#pragma once

// Copies of names: symbol columns of results, where a few thousand names stand for millions of
// items.
//
//   number  2 0 2 1 ...   ->   text  | CIB | IBM | AIG |    ->   "AIG" "IBM" "AIG" "CIB" ...
//
// A name that is shorter than 16 bytes is copied as 16, whatever its length, and what is too much
// is overwritten by the next one: there is no call and no branch that depends on a length. What
// bounds it: 8 bytes for where an item ends and its text, written once; all threads write.

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

// Names by their numbers 0, 1, 2... Borrows the text of those that have 16 bytes and more.
class NumberedNames {
 public:
  static constexpr size_t kBytes = 32;  // Bytes to charge for a name.

  void reserve(size_t names) { names_.reserve(names); }
  void Add(std::string_view name);  // Holds no NUL.
  size_t size() const { return names_.size(); }

  // The names of `numbers`, which are below size(). Cost: 2 to 4 ns an item as long as the names
  // that occur are in the cache, shared by all threads. Charges the budget.
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

// The same of the names at `positions` of a symbol vector; kNoItem: the empty name.
absl::StatusOr<Value> CopyNames(const Value& vector, std::span<const uint32_t> positions,
                                Budget& budget);

}  // namespace tickstack::query
