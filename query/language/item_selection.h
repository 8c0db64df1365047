#pragma once

// Selects items of lists, entries of dictionaries and rows of tables, by position.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/language/term.h"

namespace tickstack::query {

// Returns a vector, list or column as a slice; nullopt for anything else.
std::optional<Slice> SliceOf(const Term& term);

// Returns `term` if it is a dictionary whose keys and values are vectors or lists of equal count;
// nullptr for anything else, also for a keyed table.
const Value* AsEntries(const Term& term);

bool IsTableTerm(const Term& term);

// Returns the number of items, entries or rows; nullopt for an atom or function.
absl::StatusOr<std::optional<size_t>> CountOfItems(Context& context, const Term& term);

// Returns the items at the positions, in the order of the positions, which must be below
// CountOfItems(). Columns of a table are not copied. The items of a list may become a vector.
absl::StatusOr<Term> ItemsAt(Context& context, Term term, ScratchVector<uint32_t> positions);

}  // namespace tickstack::query
