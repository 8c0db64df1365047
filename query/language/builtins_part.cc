// Lists, dictionaries and tables taken apart and put together: in pieces, rotated, grouped, as
// sets.

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "query/kernels/bins.h"
#include "query/kernels/group_items.h"
#include "query/kernels/nested_rows.h"
#include "query/kernels/sets.h"
#include "query/kernels/where.h"
#include "query/language/builtins.h"
#include "query/language/cuts.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"

namespace tickstack::query::builtins {
namespace {

using Positions = ScratchVector<uint32_t>;

// Returns the count of a list, dictionary or table.
absl::StatusOr<size_t> CountOfMany(Context& context, std::string_view name, const Term& term) {
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> count, CountOfItems(context, term));
  if (!count.has_value()) return TypeError("{} of an atom", name);
  if (*count >= kNoItem) return LimitError("{} items, at most {}", *count, kNoItem - 1);
  return *count;
}

// begin, begin+1... up to `count` positions; from the end on they are the first ones again.
absl::StatusOr<Positions> PositionsFrom(size_t begin, size_t count, size_t end, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(count, sizeof(uint32_t)));
  Positions positions(count);
  for (size_t i = 0; i < count; ++i) {
    positions[i] = static_cast<uint32_t>(begin + i < end ? begin + i : begin + i - end);
  }
  return positions;
}

Result Reverse(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> count, CountOfItems(context, args[0]));
  if (!count.has_value()) return std::move(args[0]);  // An atom is its own reverse.
  TS_RETURN_IF_ERROR(context.budget.Charge(*count, sizeof(uint32_t)));
  Positions positions(*count);
  std::iota(positions.rbegin(), positions.rend(), 0u);
  return ItemsAt(context, std::move(args[0]), std::move(positions));
}

Result Rotate(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const int64_t by, WholeArgument(context, "rotate", args[0]));
  TS_ASSIGN_OR_RETURN(const size_t count, CountOfMany(context, "rotate", args[1]));
  if (count == 0) return std::move(args[1]);
  const int64_t rest = by % static_cast<int64_t>(count);
  const auto begin = static_cast<size_t>(rest < 0 ? rest + static_cast<int64_t>(count) : rest);
  TS_ASSIGN_OR_RETURN(Positions positions, PositionsFrom(begin, count, count, context.budget));
  return ItemsAt(context, std::move(args[1]), std::move(positions));
}

// n items from one end, or (begin; n); never more than there are.
Result Sublist(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(const size_t count, CountOfMany(context, "sublist", args[1]));
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < x.count() && i <= 2 && (x.is_atom() || x.is_vector()); ++i) {
    const std::optional<int64_t> number = IndexOf(x.is_atom() ? x : ItemAt(x, i));
    if (!number.has_value()) return TypeError("sublist by {}s", NameOf(x.type()));
    if (*number == kNullLong) return DomainError("sublist by a null");
    numbers.push_back(*number);
  }
  if (numbers.empty()) return TypeError("sublist by a {}", NameOf(x.type()));
  if (numbers.size() > 2 || (numbers.size() == 1 && !x.is_atom())) {
    return LengthError("sublist by {} numbers", x.count());
  }
  const auto n = static_cast<__int128>(count);
  __int128 begin = 0, end = numbers.back();
  if (numbers.size() == 2) {
    begin = numbers[0];
    end += begin;
  } else if (numbers[0] < 0) {
    begin = n + numbers[0];
    end = n;
  }
  begin = std::clamp<__int128>(begin, 0, n);
  end = std::clamp<__int128>(end, begin, n);
  TS_ASSIGN_OR_RETURN(Positions positions,
                      PositionsFrom(static_cast<size_t>(begin), static_cast<size_t>(end - begin),
                                    count, context.budget));
  return ItemsAt(context, std::move(args[1]), std::move(positions));
}

// Where the flags are set; a number says how often.
Result Where(Context& context, Args args) {
  const Value* entries = AsEntries(args[0]);
  const std::optional<Slice> slice =
      entries != nullptr ? Slice::Of(entries->values()) : SliceOf(args[0]);
  if (!slice.has_value()) return TypeError("where of an atom");
  TS_ASSIGN_OR_RETURN(Value positions, PositionsWhere(*slice, context.budget));
  if (entries == nullptr) return positions;
  Term keys = entries->keys();
  return IndexTerm(context, keys, positions);
}

Result Group(Context& context, Args args) {
  const std::optional<Slice> slice = SliceOf(args[0]);
  if (slice.has_value()) return FromValue(GroupItems(*slice, context.budget));
  if (const Value* const entries = AsEntries(args[0])) {  // The keys of each value.
    return FromValue(GroupDict(*entries, context.budget));
  }
  if (!IsTableTerm(args[0])) return TypeError("group of an atom");
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  return FromValue(GroupTable(view, context.budget));
}

// x cut y: in pieces of x items; by several numbers as x _ y.
Result Cut(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (!x.is_atom()) return CutAt(context, x, std::move(args[1]));
  Term width = x;
  TS_ASSIGN_OR_RETURN(const int64_t items, WholeArgument(context, "cut", width));
  if (items < 1) return DomainError("pieces of {} items", items);
  TS_ASSIGN_OR_RETURN(const size_t count, CountOfMany(context, "cut", args[1]));
  const size_t pieces =
      count / static_cast<size_t>(items) + (count % static_cast<size_t>(items) != 0 ? 1 : 0);
  TS_RETURN_IF_ERROR(budget.Charge(pieces, sizeof(int64_t)));
  VectorWriter<int64_t> begins(Type::kLong, pieces);
  for (size_t i = 0; i < pieces; ++i) begins.data()[i] = static_cast<int64_t>(i) * items;
  return CutAt(context, std::move(begins).Finish(), std::move(args[1]));
}

// The items of x that are, or are not, among those of y.
template <bool among>
Result Filtered(Context& context, Args args) {
  Budget& budget = context.budget;
  const auto positions_of = [&](std::span<const uint8_t> flags) -> absl::StatusOr<Positions> {
    TS_RETURN_IF_ERROR(budget.Charge(flags.size(), sizeof(uint32_t)));
    Positions positions;
    for (uint32_t i = 0; i < flags.size(); ++i) {
      if ((flags[i] != 0) == among) positions.push_back(i);
    }
    return positions;
  };
  if (IsTableTerm(args[0]) && IsTableTerm(args[1])) {
    TS_ASSIGN_OR_RETURN(const TableView y, ToView(context, std::move(args[1])));
    TS_ASSIGN_OR_RETURN(TableView x, ToView(context, std::move(args[0])));
    if (x.key_columns + y.key_columns > 0) return NyiError("a set of keyed tables");
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint8_t> flags, AreRowsOf(x, y, budget));
    TS_ASSIGN_OR_RETURN(Positions positions, positions_of(flags));
    return ItemsAt(context, std::move(x), std::move(positions));
  }
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(Value x, Take(context, args[0]));
  if (!x.is_vector() && !x.is_list()) return TypeError("a set of a {}", NameOf(x.type()));
  TS_ASSIGN_OR_RETURN(const Value flags, AreItemsOf(x, y, budget));
  TS_ASSIGN_OR_RETURN(Positions positions, positions_of(flags.span<uint8_t>()));
  return ItemsAt(context, std::move(x), std::move(positions));
}

// distinct x,y
Result Union(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Term joined, Apply(context, *FindBuiltin(","), args));
  return Apply(context, *FindBuiltin("distinct"), std::span(&joined, 1));
}

Result Cross(Context& context, Args args) {
  if (IsTableTerm(args[0]) && IsTableTerm(args[1])) {
    TS_ASSIGN_OR_RETURN(const TableView y, ToView(context, std::move(args[1])));
    TS_ASSIGN_OR_RETURN(const TableView x, ToView(context, std::move(args[0])));
    TS_ASSIGN_OR_RETURN(TableView pairs, CrossRows(x, y, context.budget));
    return pairs;
  }
  const auto list = [&](Term& term) -> absl::StatusOr<Value> {
    TS_ASSIGN_OR_RETURN(Value value, Take(context, term));
    if (value.is_atom()) return Enlist(std::move(value));
    if (value.is_vector() || value.is_list()) return value;
    return NyiError(fmt::format("cross of a {}", NameOf(value.type())));
  };
  TS_ASSIGN_OR_RETURN(const Value y, list(args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, list(args[0]));
  return FromValue(CrossItems(x, y, context.budget));
}

constexpr std::array kPartTable = {
    Builtin{"reverse", 1, 1, false, Reverse},
    Builtin{"rotate", 2, 2, true, Rotate, true},
    Builtin{"sublist", 2, 2, true, Sublist, true},
    Builtin{"cut", 2, 2, true, Cut, true},
    Builtin{"where", 1, 1, false, Where},
    Builtin{"group", 1, 1, false, Group},
    Builtin{"bin", 2, 2, true, OfValues<LastAtMost>},
    Builtin{"binr", 2, 2, true, OfValues<FirstAtLeast>},
    Builtin{"except", 2, 2, true, Filtered<false>},
    Builtin{"inter", 2, 2, true, Filtered<true>},
    Builtin{"union", 2, 2, true, Union},
    Builtin{"cross", 2, 2, true, Cross},
};

}  // namespace

absl::StatusOr<int64_t> WholeArgument(Context& context, std::string_view name, Term& term) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, term));
  const std::optional<int64_t> number = x.is_atom() ? IndexOf(x) : std::nullopt;
  if (!number.has_value()) return TypeError("{} by a {}", name, NameOf(x.type()));
  if (*number == kNullLong) return DomainError("{} by a null", name);
  return *number;
}

std::span<const Builtin> Parts() { return kPartTable; }

}  // namespace tickstack::query::builtins
