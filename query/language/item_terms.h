#pragma once

// The items of a term, as terms, for iterators. The contents of items are not copied.

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/language/term.h"

namespace tickstack::query {

class ItemTerms {
 public:
  // Makes the items of a vector, list or column, the rows of a table, or the values of a
  // dictionary. For any other term the only item is the term itself: iterators combine it with
  // every item of the other arguments.
  static absl::StatusOr<ItemTerms> Of(Term term, Budget& budget);

  bool is_atom() const { return kind_ == Kind::kAtom; }
  size_t count() const { return count_; }
  // Returns item i; if is_atom(), the only item for any i. A vector or list is shared, not copied.
  absl::StatusOr<Term> At(size_t i) const;
  // The keys of a dictionary, which the result gets as well; nullopt for other terms.
  const std::optional<Value>& keys() const { return keys_; }

  // Gives all dictionaries among the sides the same keys in one order, unless they have them
  // already: the keys of the first one, then those that only later ones have. An item of a key that
  // a side lacks is its null.
  static absl::Status AlignKeys(std::vector<ItemTerms>& sides, Budget& budget);

 private:
  enum class Kind { kAtom, kItems, kRows };
  ItemTerms(Kind kind, size_t count, Term term)
      : kind_(kind), count_(count), term_(std::move(term)) {}

  absl::StatusOr<Term> Own(size_t i) const;  // Returns item i of the term.
  absl::StatusOr<Term> Missing() const;      // Returns the null of the items.

  Kind kind_;
  size_t count_;
  Term term_;
  std::shared_ptr<Value> list_;  // A list value, whose items are not copied.
  std::optional<Value> keys_;
  // Where item i is among those of the term; nullptr: it is item i. kNoItem: `missing_`.
  std::shared_ptr<const ScratchVector<uint32_t>> places_;
  Term missing_ = Value();
};

// Combines the results for all items into one value: atoms of one type become a vector,
// dictionaries with the same names a table, and anything else a list.
absl::StatusOr<Value> CollectItems(std::vector<Value> items, Budget& budget);

}  // namespace tickstack::query
