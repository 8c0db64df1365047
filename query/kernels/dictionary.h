#pragma once

// Combines two dictionaries by their keys: joins them, or applies a function such as + to each pair
// of entries (code.kx.com/q/ref: join, dictionary arithmetic). Keyed tables are dictionaries whose
// keys are rows. Tables without keys are combined column by column.

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

struct AlignedKeys {
  Value keys;  // The keys of x, then those that only y has. Each key once.
  // The first position of each key in x and in y; kNoItem if it is absent there.
  ScratchVector<uint32_t> in_x, in_y;
};

// Matches the keys of two dictionaries. Keys are vectors, lists or tables. Cost: a hash per key;
// for lists, or vectors of different types, a search through all keys for each key.
absl::StatusOr<AlignedKeys> AlignKeys(const Value& x, const Value& y, Budget& budget);

// True for a dictionary of two sequences of equal count that is not a keyed table.
bool IsPlainDict(const Value& value);

// Returns x,y: the entries of both; for a key that both have, the entry of y.
absl::StatusOr<Value> JoinDicts(const Value& x, const Value& y, Budget& budget);

// A function of two items, of two vectors, or of a vector and an atom.
using ItemwiseFunction = absl::FunctionRef<absl::StatusOr<Value>(const Value& x, const Value& y)>;

// The result for a key that only one dictionary has.
enum class Unpaired {
  kKept,      // The item itself, as in x+y.
  kWithZero,  // The function of the item and 0, as in x-y.
  kWithNull,  // The function of the item and a null, as in x=y.
};

// Applies f to the entries of two dictionaries, or of two keyed tables. Errors: `type` if only one
// of them is a keyed table, and those of f.
absl::StatusOr<Value> CombineDicts(const Value& x, const Value& y, Unpaired unpaired,
                                   ItemwiseFunction f, Budget& budget);

// Applies f to the columns of two tables with equal row counts. A column that only one table has is
// not changed.
absl::StatusOr<Value> CombineTables(const Value& x, const Value& y, ItemwiseFunction f,
                                    Budget& budget);

}  // namespace tickstack::query
