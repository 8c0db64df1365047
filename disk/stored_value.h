#pragma once

// Reads the values in files, which follow `ff 01`. They are encoded as in a message, with two
// differences. Symbol columns of a flat table may be enums, `15 "sym"NUL attribute i32 count, i32
// positions`, which messages never have. And appending to a file does not change the count in it: a
// list or vector that fills a file extends to the file's end.

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

// Limit on the memory of a value after its enums were resolved, and of a row of a nested column. A
// small file could exceed any memory, since names may be much longer than positions, and several
// references may be to the same bytes.
inline constexpr uint64_t kStoredValueBytesMax = uint64_t{1} << 28;

// Returns the value that fills `bytes`, with enums resolved to symbols. kDataLoss if it is invalid;
// kNotFound if an enum's domain is not among `domains` (which may be nullptr); kResourceExhausted
// if it takes more than kStoredValueBytesMax. Errors name a byte of the file: `place` is the
// position of the first byte of `bytes` there.
absl::StatusOr<Value> DecodeStored(std::span<const std::byte> bytes, const SymbolDomains* domains,
                                   uint64_t place);

// Subtracts the value's size from `bytes_left`, the bytes that a row or file may still use.
// kResourceExhausted if there are not enough left.
absl::Status Spend(const Value& value, uint64_t* bytes_left);

// Returns the value of a whole file that begins with `ff 01`, including appended data. Errors: as
// DecodeStored.
absl::StatusOr<Value> DecodeStoredFile(std::span<const std::byte> file,
                                       const SymbolDomains* domains);

// Returns where the items of a file's general list begin, and finally the file's length. `file` is
// the whole file, from ff 01 00 on. kDataLoss if an item is incomplete.
absl::StatusOr<std::vector<uint64_t>> ItemOffsets(std::span<const std::byte> file);

// Returns the value of a file of any known form: a flat table or another value, a vector, or a
// nested list. kNotFound if there is no such file; errors name the path. Cost: reading the file.
absl::StatusOr<Value> ReadStoredValue(const std::string& path,
                                      std::shared_ptr<const SymbolDomains> domains);

}  // namespace tickstack::disk
