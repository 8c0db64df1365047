#pragma once

// The open orders of a stream. Messages about an order often have its number only, so a decoder
// looks up here what the message that added the order said.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"

namespace tickstack::feed::market {

// `Symbol` is what the decoder names symbols by, such as a number or a text of fixed width.
template <typename Symbol>
struct OpenOrder {
  int64_t price;  // In the stream's unit.
  uint32_t size;
  Symbol symbol;
  char side;
};

// Threads: one owner. Memory of an open order: 9 bytes and those of OpenOrder, 1.1 to 2.3 times.
template <typename Symbol>
class OpenOrders {
 public:
  using Open = OpenOrder<Symbol>;
  static constexpr size_t kOrdersMax = size_t{1} << 26;

  bool is_full() const { return orders_.size() >= kOrdersMax; }
  size_t size() const { return orders_.size(); }

  // Adds an order, or changes it.
  void Put(uint64_t id, const Open& order) { orders_.insert_or_assign(id, order); }
  // Returns the order, valid until the next call; nullptr if it is not open.
  Open* Find(uint64_t id) {
    const auto found = orders_.find(id);
    return found == orders_.end() ? nullptr : &found->second;
  }
  // Takes `size` from an order, which ends when nothing remains. Returns the order as it was
  // before; nullopt if it is not open.
  std::optional<Open> Reduce(uint64_t id, uint32_t size) {
    const auto found = orders_.find(id);
    if (found == orders_.end()) return std::nullopt;
    const Open before = found->second;
    found->second.size -= std::min(found->second.size, size);
    if (found->second.size == 0) orders_.erase(found);
    return before;
  }
  // Ends an order. Returns it; nullopt if it is not open.
  std::optional<Open> Remove(uint64_t id) {
    const auto found = orders_.find(id);
    if (found == orders_.end()) return std::nullopt;
    const Open before = found->second;
    orders_.erase(found);
    return before;
  }
  // Ends the orders of a symbol. Cost: a pass over all orders.
  void RemoveSymbol(const Symbol& symbol) {
    absl::erase_if(orders_, [&](const auto& each) { return each.second.symbol == symbol; });
  }
  void Clear() { orders_.clear(); }

 private:
  absl::flat_hash_map<uint64_t, Open> orders_;
};

}  // namespace tickstack::feed::market
