#pragma once

// The table of symbols that all columns of a process share.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace tickstack {

using SymbolId = int32_t;
// The number of the empty name: 0N, which no other name gets.
inline constexpr SymbolId kNullSymbol = INT32_MIN;

// Numbers names in order of first appearance: 0, 1, 2, ..., as the `sym` file does. Append-only.
//
// Threads: one writer calls Intern; any thread may call Find, NameOf and size at the same time,
// without a lock. A reader may ask for the name of every id that it read from a published row.
class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // Returns the name's number; a name without one gets the next. kNullSymbol for "". A name ends at
  // its first NUL. About 5 ns for a known name of up to 8 characters.
  SymbolId Intern(std::string_view name);
  // Interns adjacent NUL-terminated names, as many as `ids` has room for, and returns their total
  // bytes; nullopt if `text` ends before the last name does (the names before that are still
  // interned).
  std::optional<size_t> InternAll(std::span<const std::byte> text, std::span<SymbolId> ids);

  std::optional<SymbolId> Find(std::string_view name) const;
  // Returns a text that is valid while the table exists; "" for kNullSymbol and for an unused
  // number.
  std::string_view NameOf(SymbolId id) const;
  int32_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tickstack
