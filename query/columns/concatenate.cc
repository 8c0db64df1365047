#include "query/columns/concatenate.h"

#include <algorithm>

#include "query/columns/elements.h"
#include "query/columns/errors.h"

namespace tickstack::query {
namespace {

// Returns how many items x adds to a list.
size_t ItemCount(const Value& x) { return x.is_list() || IsAtomOrVector(x) ? x.count() : 1; }

std::vector<Value> ItemsOf(const Value& x) {
  if (x.is_list()) return x.items();
  std::vector<Value> items;
  const size_t n = ItemCount(x);
  for (size_t i = 0; i < n; ++i) items.push_back(ItemAt(x, i));
  return items;
}

Value JoinSymbols(const Value& x, const Value& y) {
  SymbolVector names;
  names.reserve(x.count() + y.count(), 0);
  for (const Value* side : {&x, &y}) {
    for (size_t i = 0; i < side->count(); ++i) {
      names.push_back(side->is_atom() ? side->symbol() : side->symbols()[i]);
    }
  }
  return Value::Symbols(std::move(names));
}

}  // namespace

absl::StatusOr<Value> Join(const Value& x, const Value& y, Budget& budget) {
  if (x.is_table() || y.is_table() || x.is_dict() || y.is_dict()) return NyiError(",");
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(x) + ApproximateBytes(y)));
  if (IsAtomOrVector(x) && IsAtomOrVector(y) && x.type() == y.type()) {
    if (x.type() == Type::kSymbol) return JoinSymbols(x, y);
    ByteBuffer bytes;
    bytes.reserve(x.elements().size() + y.elements().size());
    bytes.Append(x.elements());
    bytes.Append(y.elements());
    return Value::Vector(x.type(), std::move(bytes));
  }
  // An empty list takes the type of what is joined to it.
  if (x.is_list() && x.count() == 0 && IsSequence(y)) return y;
  if (y.is_list() && y.count() == 0 && IsSequence(x)) return x;
  TS_RETURN_IF_ERROR(budget.ChargeItems(ItemCount(x) + ItemCount(y)));
  std::vector<Value> items = ItemsOf(x);
  for (Value& item : ItemsOf(y)) items.push_back(std::move(item));
  return Collapse(std::move(items));
}

absl::StatusOr<Value> Raze(Value x, Budget& budget) {
  if (x.is_dict() && !x.is_keyed_table()) return Raze(x.values(), budget);
  if (!x.is_list() || x.count() == 0) return x;
  const std::vector<Value>& parts = x.items();
  const auto simple = [](const Value& part) { return IsAtomOrVector(part) || part.is_list(); };
  if (!std::ranges::all_of(parts, simple)) return NyiError("raze");
  if (parts.size() == 1) return parts[0].is_atom() ? Enlist(parts[0]) : parts[0];
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(x)));
  const Type type = parts[0].type();
  const auto alike = [&](const Value& part) { return IsAtomOrVector(part) && part.type() == type; };
  if (IsFixedWidth(type) && std::ranges::all_of(parts, alike)) {
    size_t bytes = 0;
    for (const Value& part : parts) bytes += part.elements().size();
    ByteBuffer all;
    all.reserve(bytes);
    for (const Value& part : parts) all.Append(part.elements());
    return Value::Vector(type, std::move(all));
  }
  std::vector<Value> items;
  for (const Value& part : parts) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_RETURN_IF_ERROR(budget.ChargeItems(part.count()));
    for (Value& item : ItemsOf(part)) items.push_back(std::move(item));
  }
  if (items.empty()) return parts.back();
  return Collapse(std::move(items));
}

}  // namespace tickstack::query
