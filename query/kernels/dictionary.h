#pragma once

// Combines two dictionaries by their keys: joins them, or adds, compares... entry by entry
// (code.kx.com/q/ref: join, dictionary arithmetic). Keyed tables are dictionaries whose keys are
// rows. Tables without keys are also combined here, column by column.

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// The keys of both, those of x first, each once, with their positions; kNoItem: absent. If one side
// has a key twice, the first one counts.
struct AlignedKeys {
  Value keys;
  ScratchVector<uint32_t> in_x, in_y;
};

// Keys are vectors, lists or tables. Cost: a hash per key; for lists, or vectors of different
// types, a search through all keys for each.
absl::StatusOr<AlignedKeys> AlignKeys(const Value& x, const Value& y, Budget& budget);

// True for a dictionary of two sequences of equal count that is not a keyed table.
bool IsPlainDict(const Value& value);

// x,y: the entries of both; if both have a key, y's entry.
absl::StatusOr<Value> JoinDicts(const Value& x, const Value& y, Budget& budget);

// A function of two items, of two vectors, or of a vector and an atom.
using ItemwiseFunction = absl::FunctionRef<absl::StatusOr<Value>(const Value& x, const Value& y)>;

// The result for a key that only one dictionary has.
enum class Unpaired {
  kKept,      // Its own item, as in x+y.
  kWithZero,  // The function of it and 0, as in x-y.
  kWithNull,  // The function of it and a null, as in x=y.
};

// Applies f to the entries of two dictionaries, or of two keyed tables. Errors: `type` if only one
// of them is a keyed table, and those of f.
absl::StatusOr<Value> CombineDicts(const Value& x, const Value& y, Unpaired unpaired,
                                   ItemwiseFunction f, Budget& budget);

// Applies f to the columns of two tables with equal row counts; a column of only one table stays.
absl::StatusOr<Value> CombineTables(const Value& x, const Value& y, ItemwiseFunction f,
                                    Budget& budget);

}  // namespace tickstack::query
