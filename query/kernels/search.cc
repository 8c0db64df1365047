#include "query/kernels/search.h"

#include <algorithm>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/atomic.h"
#include "query/kernels/casts.h"
#include "query/kernels/group_items.h"
#include "query/kernels/key_table.h"
#include "query/kernels/text_patterns.h"

namespace tickstack::query {
namespace {

KeyTable<std::string_view> NamesOf(const Value& names) {
  KeyTable<std::string_view> table;
  if (names.is_atom()) {
    table.NumberOf(names.symbol());
    return table;
  }
  for (size_t i = 0; i < names.count(); ++i) table.NumberOf(names.symbols()[i]);
  return table;
}

// Compares exactly, as `in` and `distinct` do.
template <typename T>
KeyTable<decltype(KeyOf(T{}))> KeysOf(std::span<const T> elements) {
  KeyTable<decltype(KeyOf(T{}))> table;
  for (const T& element : elements) table.NumberOf(KeyOf(element));
  return table;
}

// Returns which items of x are in y; both are atoms or vectors of one type.
Value InVector(const Value& x, const Value& y) {
  const size_t n = x.count();
  VectorWriter<uint8_t> out(Type::kBoolean, n);
  if (x.type() == Type::kSymbol) {
    const KeyTable<std::string_view> names = NamesOf(y);
    for (size_t i = 0; i < n; ++i) {
      out.data()[i] = names.Contains(x.is_atom() ? x.symbol() : x.symbols()[i]);
    }
  } else {
    VisitElementType(x.type(), [&]<typename T>(std::type_identity<T>) {
      const auto keys = KeysOf(y.span<T>());
      std::ranges::transform(x.span<T>(), out.data(), [&](const T& element) {
        return uint8_t{keys.Contains(KeyOf(element))};
      });
    });
  }
  Value flags = std::move(out).Finish();
  return x.is_atom() ? ItemAt(flags, 0) : flags;
}

bool IsWholeNumber(Type type) {
  return type == Type::kBoolean || type == Type::kByte || type == Type::kShort ||
         type == Type::kInt || type == Type::kLong;
}

// True for whole numbers of two widths, which are searched as longs.
bool DifferInWidth(const Value& x, const Value& y) {
  return x.type() != y.type() && IsWholeNumber(x.type()) && IsWholeNumber(y.type());
}

absl::StatusOr<Value> WidenedToLongs(const Value& numbers, Budget& budget) {
  const Slice slice = Slice::Of(numbers.is_atom() ? Enlist(numbers) : numbers);
  TS_ASSIGN_OR_RETURN(Value longs, CastColumn(slice, {Type::kLong, std::nullopt}, budget));
  return numbers.is_atom() ? ItemAt(longs, 0) : std::move(longs);
}

absl::StatusOr<Value> InNested(const Value& x, const Value& y, Budget& budget, int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  TS_RETURN_IF_ERROR(budget.Charge(x.count(), 1));
  if (IsAtomOrVector(x)) {
    if (x.type() == y.type()) return InVector(x, y);
    // One item on the right compares like `=`, whatever the types.
    if (y.count() == 1)
      return ApplyAtomic(Comparison::kEqual, x, y.is_atom() ? y : ItemAt(y, 0), budget);
    if (DifferInWidth(x, y)) {
      TS_ASSIGN_OR_RETURN(const Value longs, WidenedToLongs(x, budget));
      TS_ASSIGN_OR_RETURN(const Value among, WidenedToLongs(y, budget));
      return InVector(longs, among);
    }
    return TypeError("{} in {}", NameOf(x.type()), NameOf(y.type()));
  }
  if (!x.is_list()) return TypeError("{} in {}", NameOf(x.type()), NameOf(y.type()));
  if (x.count() == 0) return EmptyVector(Type::kBoolean);
  std::vector<Value> items;
  for (const Value& item : x.items()) {
    TS_ASSIGN_OR_RETURN(Value flags, InNested(item, y, budget, depth + 1));
    items.push_back(std::move(flags));
  }
  return Collapse(std::move(items));
}

// Returns how deep lists are nested, by their first items: 0 for an atom, 1 for a vector.
int DepthOf(const Value& value) {
  int depth = 0;
  for (const Value* inner = &value; !inner->is_atom(); inner = &inner->items().front()) {
    ++depth;
    if (!inner->is_list() || inner->count() == 0) break;
  }
  return depth;
}

// Searches a list for values as deep as its first item; x is one such value, or a list of them.
absl::StatusOr<Value> InList(const Value& x, const std::vector<Value>& list, Budget& budget,
                             int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  TS_RETURN_IF_ERROR(budget.CheckTime());
  const int wanted = list.empty() ? 0 : DepthOf(list.front()), found = DepthOf(x);
  if (found <= wanted || !(x.is_vector() || x.is_list())) {
    const auto same = [&](const Value& item) { return Match(x, item); };
    const bool in = found == wanted && std::ranges::any_of(list, same);
    if (!in && x.is_list() && x.count() == 0) return EmptyVector(Type::kBoolean);
    return Value::Boolean(in);
  }
  if (x.count() == 0) return EmptyVector(Type::kBoolean);
  TS_RETURN_IF_ERROR(budget.ChargeItems(x.count()));
  std::vector<Value> flags;
  for (size_t i = 0; i < x.count(); ++i) {
    TS_ASSIGN_OR_RETURN(Value flag, InList(ItemAt(x, i), list, budget, depth + 1));
    flags.push_back(std::move(flag));
  }
  return Collapse(std::move(flags));
}

absl::StatusOr<Value> LikeNested(const Value& x, PatternMatcher& pattern, Budget& budget,
                                 int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (x.is_atom_of(Type::kSymbol) || x.type() == Type::kChar) {
    TS_ASSIGN_OR_RETURN(const bool matches, pattern.Matches(x.text()));
    return Value::Boolean(matches);
  }
  TS_RETURN_IF_ERROR(budget.Charge(x.count()));
  if (x.is(Type::kSymbol)) {
    VectorWriter<uint8_t> out(Type::kBoolean, x.count());
    for (size_t i = 0; i < x.count(); ++i) {
      TS_ASSIGN_OR_RETURN(out.data()[i], pattern.Matches(x.symbols()[i]));
    }
    return std::move(out).Finish();
  }
  if (x.is_dict() && !x.values().is_table()) {
    TS_ASSIGN_OR_RETURN(Value flags, LikeNested(x.values(), pattern, budget, depth + 1));
    return Value::Pair(Type::kDict, Attribute::kNone, x.keys(), std::move(flags));
  }
  if (!x.is_list()) return TypeError("{} like a pattern", NameOf(x.type()));
  if (x.count() == 0) return EmptyVector(Type::kBoolean);
  std::vector<Value> items;
  for (const Value& item : x.items()) {
    TS_ASSIGN_OR_RETURN(Value flags, LikeNested(item, pattern, budget, depth + 1));
    items.push_back(std::move(flags));
  }
  return Collapse(std::move(items));
}

ScratchVector<uint32_t> FirstAppearances(const Value& vector) {
  ScratchVector<uint32_t> kept;
  if (vector.is(Type::kSymbol)) {
    KeyTable<std::string_view> seen;
    for (uint32_t i = 0; i < vector.count(); ++i) {
      if (seen.NumberOf(vector.symbols()[i]) == kept.size()) kept.push_back(i);
    }
    return kept;
  }
  VisitElementType(vector.type(), [&]<typename T>(std::type_identity<T>) {
    KeyTable<decltype(KeyOf(T{}))> seen;
    const std::span<const T> elements = vector.span<T>();
    for (uint32_t i = 0; i < elements.size(); ++i) {
      if (seen.NumberOf(KeyOf(elements[i])) == kept.size()) kept.push_back(i);
    }
  });
  return kept;
}

// Searches with a hash table; x and y have one type. The key functions hash an item of either.
template <typename KeyAt, typename Key>
Value FindKeys(size_t known, size_t wanted, KeyAt of_x, KeyAt of_y, Key) {
  KeyTable<Key> keys;
  ScratchVector<int64_t> first;
  for (size_t i = 0; i < known; ++i) {
    if (keys.NumberOf(of_x(i)) == first.size()) first.push_back(static_cast<int64_t>(i));
  }
  VectorWriter<int64_t> out(Type::kLong, wanted);
  for (size_t i = 0; i < wanted; ++i) {
    const Key key = of_y(i);
    out.data()[i] = keys.Contains(key) ? first[keys.NumberOf(key)] : static_cast<int64_t>(known);
  }
  return std::move(out).Finish();
}

Value FindInVector(const Value& x, const Value& y) {
  if (x.type() == Type::kSymbol) {
    const auto names = [](const Value& value) {
      return [&value](size_t i) { return value.is_atom() ? value.symbol() : value.symbols()[i]; };
    };
    return FindKeys(x.count(), y.count(), names(x), names(y), std::string_view());
  }
  return VisitElementType(x.type(), [&]<typename T>(std::type_identity<T>) {
    const auto keys = [](std::span<const T> elements) {
      return [elements](size_t i) { return KeyOf(elements[i]); };
    };
    return FindKeys(x.count(), y.count(), keys(x.span<T>()), keys(y.span<T>()), KeyOf(T{}));
  });
}

absl::StatusOr<Value> FindWithin(const Value& x, const Value& y, Budget& budget, int depth);

// Looks for each item of y, where y itself is not an item of x.
absl::StatusOr<Value> FindEach(const Value& x, const Value& y, Budget& budget, int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (y.count() == 0) return EmptyVector(Type::kLong);
  TS_RETURN_IF_ERROR(budget.ChargeItems(y.count()));
  std::vector<Value> found;
  for (size_t i = 0; i < y.count(); ++i) {
    TS_ASSIGN_OR_RETURN(found.emplace_back(), FindWithin(x, ItemAt(y, i), budget, depth + 1));
  }
  return Collapse(std::move(found));
}

absl::StatusOr<Value> FindWithin(const Value& x, const Value& y, Budget& budget, int depth) {
  if (x.is_dict() && (x.keys().is_vector() || x.keys().is_list())) {
    if (y.is_list() && y.count() > 0 && !IsItemOf(x.values(), y)) {
      return FindEach(x, y, budget, depth);
    }
    TS_ASSIGN_OR_RETURN(const Value at, FindWithin(x.values(), y, budget, depth));
    ScratchVector<uint32_t> positions;
    for (const int64_t position : at.span<int64_t>()) {
      const bool found = static_cast<size_t>(position) < x.keys().count();
      positions.push_back(found ? static_cast<uint32_t>(position) : kNoItem);
    }
    Value keys = TakeItems(x.keys(), positions);
    return at.is_atom() ? ItemAt(keys, 0) : keys;
  }
  if (x.is_vector()) {
    if (y.is_list()) return FindEach(x, y, budget, depth);
    if (!IsAtomOrVector(y)) return TypeError("{} in a vector", NameOf(y.type()));
    if (DifferInWidth(x, y)) {
      TS_ASSIGN_OR_RETURN(const Value longs, WidenedToLongs(x, budget));
      TS_ASSIGN_OR_RETURN(const Value wanted, WidenedToLongs(y, budget));
      return FindWithin(longs, wanted, budget, depth);
    }
    if (x.type() != y.type()) return TypeError("{} among {}s", NameOf(y.type()), NameOf(x.type()));
    TS_RETURN_IF_ERROR(budget.Charge(x.count() + y.count(), 32));
    Value positions = FindInVector(x, y);
    return y.is_atom() ? ItemAt(positions, 0) : positions;
  }
  if (!x.is_list()) return TypeError("find in a {}", NameOf(x.type()));
  if (!IsItemOf(x, y)) return FindEach(x, y, budget, depth);
  TS_RETURN_IF_ERROR(budget.CheckTime());
  const auto found = std::ranges::find_if(x.items(), [&](const Value& z) { return Match(z, y); });
  return Value::Long(found - x.items().begin());
}

}  // namespace

absl::StatusOr<Value> In(const Value& x, const Value& y, Budget& budget) {
  if (y.is_list()) return InList(x, y.items(), budget, 0);
  if (!IsAtomOrVector(y)) return TypeError("in a {}", NameOf(y.type()));
  return InNested(x, y, budget, 0);
}

bool IsItemOf(const Value& items, const Value& y) {
  if (!(y.is_vector() || y.is_list())) return true;
  return items.is_list() && (items.count() == 0 || DepthOf(y) <= DepthOf(items.items().front()));
}

absl::StatusOr<Value> Find(const Value& x, const Value& y, Budget& budget) {
  return FindWithin(x, y, budget, 0);
}

absl::StatusOr<Value> Within(const Value& x, const Value& y, Budget& budget) {
  if (!(y.is_vector() || y.is_list())) return TypeError("within a {}", NameOf(y.type()));
  if (y.count() != 2) return LengthError("within {} items, not 2", y.count());
  TS_ASSIGN_OR_RETURN(const Value above,
                      ApplyAtomic(Comparison::kGreaterOrEqual, x, ItemAt(y, 0), budget));
  TS_ASSIGN_OR_RETURN(const Value below,
                      ApplyAtomic(Comparison::kLessOrEqual, x, ItemAt(y, 1), budget));
  return ApplyAtomic(Arithmetic::kLesser, above, below, budget);
}

absl::StatusOr<Value> Like(const Value& x, const Value& y, Budget& budget) {
  if (y.type() != Type::kChar) return TypeError("a pattern of {}", NameOf(y.type()));
  PatternMatcher pattern(y.text(), budget);
  return LikeNested(x, pattern, budget, 0);
}

absl::StatusOr<Value> Distinct(const Value& x, Budget& budget) {
  if (x.is_vector()) {
    TS_RETURN_IF_ERROR(budget.Charge(x.count(), 16));
    return TakeItems(x, FirstAppearances(x));
  }
  if (x.is_dict()) return NyiError("distinct of a dictionary");
  if (!x.is_list()) return TypeError("distinct of a {}", NameOf(x.type()));
  const absl::StatusOr<NumberedItems> numbered = NumberItems(Slice::Of(x), budget);
  if (numbered.ok()) return TakeItems(x, numbered->firsts);
  if (numbered.status().code() != absl::StatusCode::kUnimplemented) return numbered.status();
  std::vector<Value> kept;  // Becomes a list with tables or dictionaries, which have no order.
  for (const Value& item : x.items()) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const auto same = [&](const Value& other) { return Match(item, other); };
    if (std::ranges::none_of(kept, same)) kept.push_back(item);
  }
  return Collapse(std::move(kept));
}

}  // namespace tickstack::query
