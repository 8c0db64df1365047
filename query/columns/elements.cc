#include "query/columns/elements.h"

#include <algorithm>
#include <iterator>

namespace tickstack::query {
namespace {

template <typename T>
int CompareElements(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return int{std::isnan(b)} - int{std::isnan(a)};
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

bool MatchFloating(const Value& a, const Value& b) {
  return VisitElementType(a.type(), [&]<typename T>(std::type_identity<T>) {
    const std::span<const T> left = a.span<T>(), right = b.span<T>();
    if constexpr (std::is_floating_point_v<T>) {
      return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                        [](T x, T y) { return TolerantlyEqual(double{x}, double{y}); });
    } else {
      return false;
    }
  });
}

bool MatchItems(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), Match);
}

Value TakeSymbols(const SymbolVector& names, std::span<const uint32_t> positions) {
  SymbolVector taken;
  size_t text_bytes = 0;
  for (uint32_t at : positions) text_bytes += at == kNoItem ? 1 : names[at].size() + 1;
  taken.reserve(positions.size(), text_bytes);
  for (uint32_t at : positions) taken.push_back(at == kNoItem ? std::string_view() : names[at]);
  return Value::Symbols(std::move(taken));
}

Value TakeFromList(const std::vector<Value>& items, std::span<const uint32_t> positions) {
  const Value missing = MissingItem(items);
  std::vector<Value> taken;
  taken.reserve(positions.size());
  for (uint32_t at : positions) taken.push_back(at == kNoItem ? missing : items[at]);
  return Collapse(std::move(taken));
}

Value CollapseAtoms(Type type, std::span<const Value> atoms) {
  if (type == Type::kSymbol) {
    SymbolVector names;
    names.reserve(atoms.size(), 0);
    for (const Value& atom : atoms) names.push_back(atom.symbol());
    return Value::Symbols(std::move(names));
  }
  ByteBuffer bytes;
  bytes.reserve(atoms.size() * WidthOf(type));
  for (const Value& atom : atoms) bytes.Append(atom.elements());
  return Value::Vector(type, std::move(bytes));
}

bool IsUniformAtoms(std::span<const Value> items) {
  return !items.empty() && items.front().is_atom() &&
         std::ranges::all_of(
             items, [&](const Value& item) { return item.code() == items.front().code(); });
}

}  // namespace

Value NullOf(Type type) {
  if (type == Type::kSymbol) return Value::Symbol("");
  if (!IsFixedWidth(type)) return Value::List({});
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    return Value::Atom(type, NullElement<T>(type));
  });
}

Value MissingItem(const std::vector<Value>& list) {
  if (list.empty()) return Value::List({});
  const Value& first = list.front();
  if (first.is_null()) return first;
  if (first.is_atom()) return NullOf(first.type());
  if (first.is_table()) {
    std::vector<Value> columns;
    for (const Value& column : first.columns()) columns.push_back(EmptyVector(column.type()));
    return Value::Table(first.column_names(), std::move(columns));
  }
  return first.is_vector() ? EmptyVector(first.type()) : Value::List({});
}

Value EmptyVector(Type type) {
  if (type == Type::kSymbol) return Value::Symbols({});
  return IsFixedWidth(type) ? Value::Vector(type, ByteBuffer()) : Value::List({});
}

Value ItemAt(const Value& list, size_t i) {
  if (list.is_list()) return list.items()[i];
  if (list.is(Type::kSymbol)) return Value::Symbol(list.symbols()[i]);
  if (!list.is_vector()) return list;
  const size_t width = WidthOf(list.type());
  return Value::AtomFromBytes(list.type(), list.elements().subspan(i * width, width));
}

Value Collapse(std::vector<Value> items) {
  if (IsUniformAtoms(items)) return CollapseAtoms(items.front().type(), items);
  return Value::List(std::move(items));
}

Value Collapse(ScratchVector<Value> items) {
  if (IsUniformAtoms(items)) return CollapseAtoms(items.front().type(), items);
  return Value::List(std::vector<Value>(std::make_move_iterator(items.begin()),
                                        std::make_move_iterator(items.end())));
}

Value Enlist(Value item) {
  std::vector<Value> one;
  one.push_back(std::move(item));
  return Collapse(std::move(one));
}

Value Repeat(const Value& item, size_t count) {
  if (!item.is_atom()) return Value::List(std::vector<Value>(count, item));
  if (item.type() == Type::kSymbol) {
    SymbolVector names;
    names.reserve(count, count * (item.symbol().size() + 1));
    for (size_t i = 0; i < count; ++i) names.push_back(item.symbol());
    return Value::Symbols(std::move(names));
  }
  return VisitElementType(item.type(), [&]<typename T>(std::type_identity<T>) {
    VectorWriter<T> out(item.type(), count);
    std::ranges::fill(out.span(), item.as<T>());
    return std::move(out).Finish();
  });
}

Value TakeItems(const Value& list, std::span<const uint32_t> positions) {
  if (list.is_list()) return TakeFromList(list.items(), positions);
  if (list.is(Type::kSymbol)) return TakeSymbols(list.symbols(), positions);
  return VisitElementType(list.type(), [&]<typename T>(std::type_identity<T>) {
    const std::span<const T> elements = list.span<T>();
    const T missing = NullElement<T>(list.type());
    VectorWriter<T> out(list.type(), positions.size());
    std::ranges::transform(positions, out.data(),
                           [&](uint32_t at) { return at == kNoItem ? missing : elements[at]; });
    return std::move(out).Finish();
  });
}

int CompareItems(const Value& vector, size_t a, size_t b) {
  if (vector.is(Type::kSymbol)) {
    return vector.symbols()[a].compare(vector.symbols()[b]);
  }
  if (!vector.is_vector()) return 0;
  return VisitElementType(vector.type(), [&]<typename T>(std::type_identity<T>) {
    return CompareElements(vector.span<T>()[a], vector.span<T>()[b]);
  });
}

bool Match(const Value& a, const Value& b) {
  if (a.code() != b.code() && !(a.is_dict() && b.is_dict())) return false;
  if (a.is_list()) return MatchItems(a.items(), b.items());
  if (a.is_dict() || a.is_table())
    return Match(a.keys(), b.keys()) && Match(a.values(), b.values());
  if ((a.is_atom() || a.is_vector()) && IsFloating(a.type())) return MatchFloating(a, b);
  if (a.is_vector() && !a.is(Type::kSymbol)) return std::ranges::equal(a.elements(), b.elements());
  if (a.is(Type::kSymbol)) return a.symbols() == b.symbols();
  return a == b;
}

bool TolerantlyEqual(double a, double b) {
  if (a == b) return true;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return false;
  constexpr double kTolerance = 0x1p-43;
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

size_t ApproximateBytes(const Value& value) {
  size_t bytes = sizeof(Value);
  if (value.is(Type::kSymbol)) return bytes + value.symbols().text().size() + 8 * value.count();
  if (value.is_vector()) return bytes + value.elements().size();
  if (value.is_function()) return bytes + value.function_bytes().size();
  if (value.is_list()) {
    for (const Value& item : value.items()) bytes += ApproximateBytes(item);
  } else if (value.is_dict() || value.is_table()) {
    bytes += ApproximateBytes(value.keys()) + ApproximateBytes(value.values());
  }
  return bytes;
}

}  // namespace tickstack::query
