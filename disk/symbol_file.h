#pragma once

// Files of names: `sym` and other domains of enums, `.d`, and symbol columns without a domain.
//
//   ff 01 0b | attribute | i32 count | name NUL name NUL ...
//
// Appending names does not change the count, and newer kdb+ leaves it at 0: the names extend to the
// end of the file.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/string_map.h"
#include "disk/checksum_file.h"
#include "table/symbols.h"

namespace tickstack::disk {

struct StoredNames {
  std::span<const std::byte> text;  // Whole names, each with its NUL.
  size_t count = 0;
  size_t torn_bytes = 0;  // Number of bytes after the last NUL, which an interrupted append left.
};

// Parses a whole uncompressed file. kDataLoss, with the byte, if it is not a file of names, or has
// fewer names than it declares. Cost: one pass. The caller adds the path to errors.
absl::StatusOr<StoredNames> ParseStoredNames(std::span<const std::byte> file);
// True for `ff 01 0b`, and for the empty list that an empty symbol vector may be.
bool HoldsNames(std::span<const std::byte> file);

// Returns the names of a `.d`, in order. Also kDataLoss if a name is torn, empty, repeated, or
// cannot be a file of the same directory (it has a `/`, or is `.` or `..`). `checksums` is the
// checksum file of the directory, or nullptr.
absl::StatusOr<std::vector<std::string>> ReadColumnNames(const std::string& path,
                                                         const ChecksumFile* checksums = nullptr);

// A list of names in which enums store positions.
class SymbolDomain {
 public:
  SymbolDomain(std::string name, std::vector<SymbolId> ids);
  const std::string& name() const { return name_; }
  // The ids of the names, by position.
  std::span<const SymbolId> ids() const { return ids_; }
  // Returns kNullSymbol for the null position; nullopt for a position that the domain lacks.
  std::optional<SymbolId> IdAt(int64_t position) const;
  // True if ids()[i] == i for all i, so that positions need no conversion. This holds for the first
  // domain of a database, unless a name is empty or occurs twice.
  bool positions_are_ids() const { return positions_are_ids_; }

 private:
  const std::string name_;
  const std::vector<SymbolId> ids_;
  bool positions_are_ids_ = true;
};

// The domains of one database, numbered in one symbol table. Immutable once filled; then any thread
// may use it.
class SymbolDomains {
 public:
  // Adds a domain: interns the names of its file. The domain has the file's name. Returns the bytes
  // of a torn last name, which is dropped: no column can use it, since names are synced before
  // columns. kResourceExhausted beyond INT32_MAX names in total. Cost: about 50 ns per name.
  absl::StatusOr<size_t> Add(const std::string& path);

  const SymbolDomain* Find(std::string_view name) const;  // nullptr if there is none.
  const SymbolTable& symbols() const { return symbols_; }
  // All domains, in the order in which they were added.
  std::span<const std::unique_ptr<SymbolDomain>> all() const { return domains_; }

 private:
  SymbolTable symbols_;
  std::vector<std::unique_ptr<SymbolDomain>> domains_;
};

}  // namespace tickstack::disk
