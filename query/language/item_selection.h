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

// Returns a dictionary with as many items as keys, both of them lists, that is no keyed table;
// nullptr for anything else.
const Value* AsEntries(const Term& term);

bool IsTableTerm(const Term& term);

// Returns the number of items, entries or rows; nullopt for an atom or function.
absl::StatusOr<std::optional<size_t>> CountOfItems(Context& context, const Term& term);

// Returns the items at the positions, in their order. Columns of a table are not copied; items of a
// list may become a vector. Positions must be below CountOfItems().
absl::StatusOr<Term> ItemsAt(Context& context, Term term, ScratchVector<uint32_t> positions);

}  // namespace tickstack::query
