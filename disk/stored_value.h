#pragma once

// Values in files: what follows `ff 01`. The bytes are those of a message, with two differences.
// Symbol columns of a flat table may be enums, `15 "sym"NUL attribute i32 count, i32 positions`,
// which messages never have. And appending to a file does not change its count: a list, or a
// vector, that is all of a file extends to the end of it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "disk/symbol_file.h"
#include "table/value.h"

namespace tickstack::disk {

// Limit on a value whose enums are resolved, and on a row of a nested column: names may be much
// longer than positions, and several references may be to the same bytes.
inline constexpr uint64_t kStoredValueBytesMax = uint64_t{1} << 28;

// Returns the value that fills `bytes`, with enums resolved to symbols. kDataLoss if it is invalid;
// kNotFound if an enum's domain is not among `domains` (which may be nullptr); kResourceExhausted
// if it takes more than kStoredValueBytesMax. Errors name bytes counted from `place`, that of the
// first one.
absl::StatusOr<Value> DecodeStored(std::span<const std::byte> bytes, const SymbolDomains* domains,
                                   uint64_t place);

// Subtracts the value's bytes from what a row or file may still use; kResourceExhausted if that is
// exceeded.
absl::Status Spend(const Value& value, uint64_t* bytes_left);

// The same for everything that follows `ff 01` in a file, including appended data.
absl::StatusOr<Value> DecodeStoredFile(std::span<const std::byte> file,
                                       const SymbolDomains* domains);

// Returns where the items of a file's general list begin, and finally the file's length. `file` is
// all of it, ff 01 00 first. kDataLoss if an item is incomplete.
absl::StatusOr<std::vector<uint64_t>> ItemOffsets(std::span<const std::byte> file);

// Returns the value of any known file: a flat table or another value, a vector, a nested list.
// kNotFound if there is none; errors name the path. Cost: the value's bytes.
absl::StatusOr<Value> ReadStoredValue(const std::string& path,
                                      std::shared_ptr<const SymbolDomains> domains);

}  // namespace tickstack::disk
