#pragma once

// The symbols of the instruments that a stream of MDP 3.0 has defined.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace tickstack::feed::market {

inline constexpr size_t kMdp3SymbolBytes = 20;

// Threads: one owner. Memory: 64 bytes for each instrument.
class Mdp3Symbols {
 public:
  static constexpr size_t kInstrumentsMax = size_t{1} << 22;

  struct Symbol {
    std::array<char, kMdp3SymbolBytes> text;
    uint8_t length = 0;
    std::string_view view() const { return {text.data(), length}; }
  };

  // Returns the symbol of an instrument; its number, as text, if the stream has not defined it.
  Symbol Find(int32_t security) const {
    if (const auto found = symbols_.find(security); found != symbols_.end()) return found->second;
    Symbol symbol{};
    const char* const end =
        std::to_chars(symbol.text.data(), symbol.text.data() + symbol.text.size(), security).ptr;
    symbol.length = static_cast<uint8_t>(end - symbol.text.data());
    return symbol;
  }

  // Remembers the symbol of an instrument, of at most kMdp3SymbolBytes. Returns false if there are
  // too many instruments.
  bool Define(int32_t security, std::string_view text) {
    if (symbols_.size() >= kInstrumentsMax && !symbols_.contains(security)) return false;
    Symbol& symbol = symbols_[security];
    std::ranges::copy(text, symbol.text.begin());
    symbol.length = static_cast<uint8_t>(text.size());
    return true;
  }
  void Forget(int32_t security) { symbols_.erase(security); }
  void Clear() { symbols_.clear(); }

 private:
  absl::flat_hash_map<int32_t, Symbol> symbols_;  // By security id.
};

}  // namespace tickstack::feed::market
