#pragma once

// Symbols of columns that are not enumerated: the file has the names themselves. They are numbered
// in the symbol table of the database's domains, so that queries treat them as other symbols.

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "disk/symbol_file.h"
#include "table/symbols.h"

namespace tickstack::disk {

// Numbers NUL-terminated names, as many as `ids` has room for. New names get numbers after those of
// all domains, and stay as long as the domains exist. kResourceExhausted beyond INT32_MAX names in
// total; kDataLoss if there are fewer names. Cost: about 50 ns for a new name. Threads: any.
absl::Status NumberPlainSymbols(const SymbolDomains& domains, std::span<const std::byte> text,
                                std::span<SymbolId> ids);

}  // namespace tickstack::disk
