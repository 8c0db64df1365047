#pragma once

// Values in files: what follows `ff 01`. The bytes are those of a message, with two differences.
// Symbol columns of a flat table may be enums, `15 "sym"NUL attribute i32 count, i32 positions`,
// which never travel. And what was appended to a file is not in its count: a list, or a vector,
// that is all of a file goes to the end of it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "disk/symbol_file.h"
#include "table/value.h"

namespace tickstack {

// A value with its enums resolved may take this much, a row of a nested column as well: names may
// be much longer than positions, and references may be to the same bytes.
inline constexpr uint64_t kStoredValueBytesMax = uint64_t{1} << 28;

// The value that fills `bytes`, enums resolved to symbols. kDataLoss if it is none; kNotFound if
// an enum's domain is not among `domains` (which may be nullptr); kResourceExhausted if that takes
// more than kStoredValueBytesMax. Errors name bytes counted from `place`, the first one's.
absl::StatusOr<Value> DecodeStored(std::span<const std::byte> bytes, const SymbolDomains* domains,
                                   uint64_t place);

// Takes the value's bytes off what a row or file may still take; kResourceExhausted if they are
// more.
absl::Status Spend(const Value& value, uint64_t* bytes_left);

// The same of all that follows `ff 01` in a file, with what was appended to it.
absl::StatusOr<Value> DecodeStoredFile(std::span<const std::byte> file,
                                       const SymbolDomains* domains);

// Where the items of a file's general list begin; the last entry is the file's length. `file` is
// all of it, ff 01 00 first. kDataLoss if an item does not end.
absl::StatusOr<std::vector<uint64_t>> ItemOffsets(std::span<const std::byte> file);

// The value of any file that is known: a flat table or another value, a vector, a nested list.
// kNotFound if there is none; errors name the path. Cost: what the value takes.
absl::StatusOr<Value> ReadStoredValue(const std::string& path,
                                      std::shared_ptr<const SymbolDomains> domains);

}  // namespace tickstack
