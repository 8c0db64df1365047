// Functions that sort: lists, dictionaries by their values, tables by columns; and ranks.

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "query/columns/gather.h"
#include "query/kernels/ranks.h"
#include "query/kernels/sort.h"
#include "query/language/builtins.h"
#include "query/language/item_selection.h"

namespace tickstack::query::builtins {
namespace {

absl::Status NotSortable(std::string_view name, const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  if (value == nullptr) return NyiError(fmt::format("{} of a function", name));
  return TypeError("{} of a {}", name, NameOf(value->type()));
}

// Gathers one column of an ordered view and gives it an attribute.
absl::Status SetAttribute(TableView& view, size_t column, Attribute attribute, Budget& budget) {
  if (view.columns[column].type() == Type::kList) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(AnyColumn ordered, std::move(view.columns[column]).Take(budget));
  const Slice slice{std::move(ordered), view.rows};
  TS_ASSIGN_OR_RETURN(Value value, Release(slice, budget));
  value.set_attribute(attribute);
  view.columns[column] = ViewColumn(std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<TableView> SortView(const TableView& view, std::span<const size_t> columns,
                                   Direction direction, Budget& budget) {
  std::vector<Slice> slices;
  for (size_t column : columns) {
    TS_ASSIGN_OR_RETURN(Slice slice, view.ColumnAt(column, budget));
    slices.push_back(std::move(slice));
  }
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> order, Grade(slices, direction, budget));
  return RowsInOrder(view, std::move(order), budget);
}

// Sorts; a table by its columns that are not keys, the first one first. If there are several such
// columns, asc sets the attribute parted instead of sorted, as q does.
template <Direction direction>
Result SortTable(Context& context, Term term) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(term)));
  const size_t column = view.key_columns;
  if (column >= view.columns.size()) return TypeError("a table without columns to sort by");
  std::vector<size_t> columns(view.columns.size() - column);
  std::iota(columns.begin(), columns.end(), column);
  TS_ASSIGN_OR_RETURN(TableView sorted, SortView(view, columns, direction, context.budget));
  if (direction == Direction::kAscending) {
    const bool only = column + 1 == view.columns.size();
    TS_RETURN_IF_ERROR(SetAttribute(sorted, column, only ? Attribute::kSorted : Attribute::kParted,
                                    context.budget));
  }
  return sorted;
}

template <Direction direction>
Result Sort(Context& context, Args args) {
  constexpr std::string_view kName = direction == Direction::kAscending ? "asc" : "desc";
  if (const std::optional<Slice> slice = SliceOf(args[0])) {
    return FromValue(Sorted(*slice, direction, context.budget));
  }
  if (const Value* dict = AsEntries(args[0])) {
    const Slice values = Slice::Of(dict->values());
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> order,
                        Grade(std::span(&values, 1), direction, context.budget));
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(*dict)));
    return Value::Dict(TakeItems(dict->keys(), order), TakeItems(dict->values(), order));
  }
  if (IsTableTerm(args[0])) return SortTable<direction>(context, std::move(args[0]));
  return NotSortable(kName, args[0]);
}

Result PlacesOf(std::span<const uint32_t> order, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(order.size(), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, order.size());
  std::ranges::copy(order, out.data());
  return std::move(out).Finish();
}

// Returns positions; for a dictionary or keyed table the keys in the order of their values.
template <Direction direction>
Result GradeItems(Context& context, Args args) {
  constexpr std::string_view kName = direction == Direction::kAscending ? "iasc" : "idesc";
  if (IsTableTerm(args[0])) {
    TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
    std::vector<Slice> columns;
    for (size_t i = view.key_columns; i < view.columns.size(); ++i) {
      TS_ASSIGN_OR_RETURN(Slice column, view.ColumnAt(i, context.budget));
      columns.push_back(std::move(column));
    }
    TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> order, Grade(columns, direction, context.budget));
    if (view.key_columns == 0) return PlacesOf(order, context.budget);
    TableView keys = view;
    keys.key_columns = 0;
    keys.names.resize(view.key_columns);
    keys.columns.erase(keys.columns.begin() + static_cast<ptrdiff_t>(view.key_columns),
                       keys.columns.end());
    TS_ASSIGN_OR_RETURN(TableView ordered, RowsInOrder(keys, std::move(order), context.budget));
    return ordered;
  }
  const Value* dict = AsEntries(args[0]);
  const std::optional<Slice> slice = dict != nullptr ? Slice::Of(dict->values()) : SliceOf(args[0]);
  if (!slice.has_value()) return NotSortable(kName, args[0]);
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> order,
                      Grade(std::span(&*slice, 1), direction, context.budget));
  if (dict != nullptr) {
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(dict->keys())));
    return TakeItems(dict->keys(), order);
  }
  return PlacesOf(order, context.budget);
}

// Sorts by columns; xasc gives the first one the attribute sorted.
template <Direction direction>
Result SortByColumns(Context& context, Args args) {
  constexpr std::string_view kName = direction == Direction::kAscending ? "xasc" : "xdesc";
  if (const auto* name = std::get_if<Value>(&args[1]); name != nullptr && name->is_atom()) {
    if (name->type() != Type::kSymbol) return NotSortable(kName, args[1]);
  }
  TS_ASSIGN_OR_RETURN(const Value names, Take(context, args[0]));
  return ChangeTable(
      context, std::move(args[1]), [&](const TableView& view) -> absl::StatusOr<TableView> {
        TS_ASSIGN_OR_RETURN(const std::vector<size_t> columns, ColumnsNamed(view, names));
        if (columns.empty()) return view;
        TS_ASSIGN_OR_RETURN(TableView sorted, SortView(view, columns, direction, context.budget));
        if (direction == Direction::kAscending) {
          TS_RETURN_IF_ERROR(
              SetAttribute(sorted, columns.front(), Attribute::kSorted, context.budget));
        }
        return sorted;
      });
}

bool IsAtomTerm(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_atom();
}

// Ranks as `iasc iasc x`, so that a dictionary's ranks are of its keys.
Result Rank(Context& context, Args args) {
  if (IsAtomTerm(args[0])) return RankError("rank of an atom");
  if (IsTableTerm(args[0])) {
    TS_ASSIGN_OR_RETURN(Term order, Apply(context, *FindBuiltin("iasc"), args));
    return Apply(context, *FindBuiltin("iasc"), std::span(&order, 1));
  }
  Budget& budget = context.budget;
  if (const Value* entries = AsEntries(args[0])) {
    const Slice values = Slice::Of(entries->values());
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> order,
                        Grade(std::span(&values, 1), Direction::kAscending, budget));
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(entries->keys())));
    const Slice keys = Slice::Of(TakeItems(entries->keys(), order));
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> of_keys,
                        Grade(std::span(&keys, 1), Direction::kAscending, budget));
    TS_RETURN_IF_ERROR(budget.Charge(of_keys.size(), sizeof(int64_t)));
    VectorWriter<int64_t> out(Type::kLong, of_keys.size());
    std::ranges::copy(of_keys, out.data());
    return std::move(out).Finish();
  }
  return ApplyUniform(context, "rank", args[0],
                      [&](const Slice& slice) { return Ranks(slice, budget); });
}

Result XRank(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const int64_t buckets, WholeArgument(context, "xrank", args[0]));
  if (IsAtomTerm(args[1])) return RankError("xrank of an atom");
  if (IsTableTerm(args[1])) {  // The parts of its rows, in their order.
    TS_ASSIGN_OR_RETURN(Term ranks, Rank(context, args.subspan(1)));
    TS_ASSIGN_OR_RETURN(const Value items, Take(context, ranks));
    return FromValue(Buckets(buckets, Slice::Of(items), context.budget));
  }
  return ApplyUniform(context, "xrank", args[1],
                      [&](const Slice& slice) { return Buckets(buckets, slice, context.budget); });
}

constexpr std::array kSortTable = {
    Builtin{"asc", 1, 1, false, Sort<Direction::kAscending>},
    Builtin{"desc", 1, 1, false, Sort<Direction::kDescending>},
    Builtin{"iasc", 1, 1, false, GradeItems<Direction::kAscending>},
    Builtin{"idesc", 1, 1, false, GradeItems<Direction::kDescending>},
    Builtin{"xasc", 2, 2, true, SortByColumns<Direction::kAscending>, true},
    Builtin{"xdesc", 2, 2, true, SortByColumns<Direction::kDescending>, true},
    Builtin{"rank", 1, 1, false, Rank},
    Builtin{"xrank", 2, 2, true, XRank, true},
};

}  // namespace

std::span<const Builtin> SortFunctions() { return kSortTable; }

}  // namespace tickstack::query::builtins
