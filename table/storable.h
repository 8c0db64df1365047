#pragma once

// What a column of nested values in a database can store: any value that consists of atoms,
// vectors, lists, dictionaries and tables. Functions, the generic null `::` among them, have no
// form on the disk.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "table/batch.h"
#include "table/schema.h"

namespace tickstack {

// Memory that a row of a nested column may take when it is read. Readers refuse larger rows, since
// a small file could exceed any memory.
inline constexpr uint64_t kStorableBytesMax = uint64_t{1} << 28;

struct Unstorable {
  std::string what;  // Such as "{x+y}, a function".
  // True if the value as a whole cannot be stored: it is too large, or nested too deep. False if
  // only functions in it cannot.
  bool is_whole = false;
};

// True for the type codes of functions.
constexpr bool IsFunctionCode(int8_t code) { return code >= 100 && code <= 112; }

// Returns what of an encoded value cannot be stored; nullopt: all of it can. `value` is exactly one
// value. Cost: O(1) for an atom or a vector, otherwise a few ns for each value in it.
std::optional<Unstorable> FindUnstorable(std::span<const std::byte> value);

// Returns a function as q writes it, from its encoding.
std::string EncodedFunctionText(std::span<const std::byte> function);

// Checks that all values in the nested columns of a batch can be stored. kInvalidArgument with the
// table, the column, the row and what was found. The batch must fit the schema (CheckBatch).
absl::Status CheckStorable(const Schema& schema, const BatchView& batch);

}  // namespace tickstack
