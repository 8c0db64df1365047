#pragma once

// Items of lists, entries of dictionaries and rows of tables alike, by their positions.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "query/language/term.h"

namespace tickstack::query {

// A vector, list or column; nullopt: something else.
std::optional<Slice> SliceOf(const Term& term);

// A dictionary of as many items as keys, both of them lists, and no keyed table; nullptr: something
// else.
const Value* AsEntries(const Term& term);

bool IsTableTerm(const Term& term);

// How many items, entries or rows there are; nullopt: it is an atom or function.
absl::StatusOr<std::optional<size_t>> CountOfItems(Context& context, const Term& term);

// Returns the items at the positions, in their order. Columns of a table are not copied; items of a
// list may become a vector. Positions must be below CountOfItems().
absl::StatusOr<Term> ItemsAt(Context& context, Term term, ScratchVector<uint32_t> positions);

}  // namespace tickstack::query
