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
  size_t torn_bytes = 0;  // After the last NUL: the rest of an interrupted append.
};

// `file` is all of an uncompressed file. kDataLoss, with the byte, if it has no names, or fewer
// than it declares. Cost: one pass. The caller adds the path.
absl::StatusOr<StoredNames> ParseStoredNames(std::span<const std::byte> file);
// True for `ff 01 0b`, and for the empty list that an empty symbol vector may be.
bool HoldsNames(std::span<const std::byte> file);

// Returns the names of a `.d`, in order. Also kDataLoss if a name is torn, empty, repeated, or
// cannot be a file of the same directory (it has a `/`, or is `.` or `..`). `checksums` are those
// of its directory, or nullptr.
absl::StatusOr<std::vector<std::string>> ReadColumnNames(const std::string& path,
                                                         const ChecksumFile* checksums = nullptr);

// A list of names in which enums store positions.
class SymbolDomain {
 public:
  SymbolDomain(std::string name, std::vector<SymbolId> ids);
  const std::string& name() const { return name_; }
  // Ids by position.
  std::span<const SymbolId> ids() const { return ids_; }
  // Returns kNullSymbol for the null position; nullopt for a position that the domain lacks.
  std::optional<SymbolId> IdAt(int64_t position) const;
  // True if ids()[i] == i for all i, so that positions are ids: as in the database's first domain,
  // unless a name is empty or occurs twice.
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
  // Interns the names of a domain file. The domain has the file's name. Returns the bytes of a torn
  // last name, which is dropped: no column can use it, since names are synced before columns.
  // kResourceExhausted beyond INT32_MAX names in total. Cost: about 50 ns per name.
  absl::StatusOr<size_t> Add(const std::string& path);

  const SymbolDomain* Find(std::string_view name) const;  // nullptr if there is none.
  const SymbolTable& symbols() const { return symbols_; }
  // In the order of Add.
  std::span<const std::unique_ptr<SymbolDomain>> all() const { return domains_; }

 private:
  SymbolTable symbols_;
  std::vector<std::unique_ptr<SymbolDomain>> domains_;
};

}  // namespace tickstack::disk
