#pragma once

// The items of anything that an iterator visits, as terms, without copying their contents.

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/term.h"

namespace tickstack::query {

class ItemTerms {
 public:
  // Returns the items of a vector, list, column, table (its rows), or a dictionary's values.
  // Anything else is a single item that is combined with all others.
  static absl::StatusOr<ItemTerms> Of(Term term, Budget& budget);

  bool is_atom() const { return kind_ == Kind::kAtom; }
  size_t count() const { return count_; }
  // Returns item i; for an atom always its single item. An item that is a vector or list is shared.
  absl::StatusOr<Term> At(size_t i) const;
  // The keys of a dictionary, for the result.
  const std::optional<Value>& keys() const { return keys_; }

 private:
  enum class Kind { kAtom, kItems, kRows };
  ItemTerms(Kind kind, size_t count, Term term)
      : kind_(kind), count_(count), term_(std::move(term)) {}

  Kind kind_;
  size_t count_;
  Term term_;
  std::shared_ptr<Value> list_;  // A list value, whose items are not copied.
  std::optional<Value> keys_;
};

// Combines the items' results: atoms of one type become a vector, and dictionaries with the same
// names a table.
absl::StatusOr<Value> CollectItems(std::vector<Value> items, Budget& budget);

}  // namespace tickstack::query
