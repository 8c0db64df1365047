#include "query/columns/encoded_item.h"

#include <algorithm>

#include "base/status.h"
#include "query/columns/errors.h"
#include "table/codec.h"

namespace tickstack::query {
namespace {

// Returns whether a value holds a function. Values nest no deeper than the codec permits.
bool HoldsFunction(const Value& value) {
  if (value.is_function()) return true;
  if (value.is_list()) return std::ranges::any_of(value.items(), HoldsFunction);
  if (value.is_table()) return std::ranges::any_of(value.columns(), HoldsFunction);
  return value.is_dict() && (HoldsFunction(value.keys()) || HoldsFunction(value.values()));
}

}  // namespace

absl::StatusOr<Value> DecodeItem(std::span<const std::byte> bytes) {
  absl::StatusOr<Value> item = Decode(bytes);
  if (!item.ok()) return DataLoss("nested item: {}", Message(item.status()));
  if (HoldsFunction(*item)) return TypeError("a nested item that holds a function");
  return item;
}

}  // namespace tickstack::query
