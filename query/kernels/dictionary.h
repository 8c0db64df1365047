#pragma once

// Two dictionaries by their keys: joined, or added, compared... entry by entry (code.kx.com/q/ref:
// join, dictionary arithmetic). Keyed tables are dictionaries whose keys are rows; tables without
// keys are handled here where they meet each other, column by column.

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// The keys of both, those of x first, each once, and where each is; kNoItem: not there. Of keys
// that one side has twice the first counts.
struct AlignedKeys {
  Value keys;
  ScratchVector<uint32_t> in_x, in_y;
};

// Keys are vectors, lists or tables. Cost: a hash a key; of lists, or of vectors of different
// types, a search through all keys for each.
absl::StatusOr<AlignedKeys> AlignKeys(const Value& x, const Value& y, Budget& budget);

// Whether the value is a dictionary of two sequences of one count; not a keyed table.
bool IsPlainDict(const Value& value);

// x,y: the entries of both; where both have a key, that of y.
absl::StatusOr<Value> JoinDicts(const Value& x, const Value& y, Budget& budget);

// What a function makes of two items, of two vectors, or of a vector and an atom.
using ItemwiseFunction = absl::FunctionRef<absl::StatusOr<Value>(const Value& x, const Value& y)>;

// What a dictionary has for a key that only it has.
enum class Unpaired {
  kKept,      // Its own item, as in x+y.
  kWithZero,  // The function of it and 0, as in x-y.
  kWithNull,  // The function of it and a null, as in x=y.
};

// f of the entries of two dictionaries, or of two keyed tables. Errors: `type` if only one of them
// is a keyed table, and those of f.
absl::StatusOr<Value> CombineDicts(const Value& x, const Value& y, Unpaired unpaired,
                                   ItemwiseFunction f, Budget& budget);

// f of the columns of two tables with equal counts of rows; a column that only one has stays.
absl::StatusOr<Value> CombineTables(const Value& x, const Value& y, ItemwiseFunction f,
                                    Budget& budget);

}  // namespace tickstack::query
