#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "mem/tier.h"

namespace tickstack {

using SymbolId = int32_t;
inline constexpr SymbolId kNullSymbol = INT32_MIN;  // The empty name: 0N, not a number of its own.

// Numbers names in order of first appearance: 0, 1, 2, ... as the `sym` file does. Append-only.
//
// Threads: one writer calls Intern; any thread may call Find, NameOf and size at the same time,
// without a lock. A reader may ask for the name of every id that it read from a published row.
class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // The name's number, a new one if it has none yet; kNullSymbol for "". About 10 ns for a known
  // name.
  SymbolId Intern(std::string_view name);
  std::optional<SymbolId> Find(std::string_view name) const;
  // The text lives as long as the table. "" for kNullSymbol.
  std::string_view NameOf(SymbolId id) const;
  int32_t size() const;

 private:
  struct State;
  State* state_;
};

}  // namespace tickstack
