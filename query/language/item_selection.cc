#include "query/language/item_selection.h"

#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/columns/table_view.h"
#include "query/kernels/sort.h"

namespace tickstack::query {
namespace {

bool HasItems(const Value& value) { return value.is_vector() || value.is_list(); }

}  // namespace

std::optional<Slice> SliceOf(const Term& term) {
  if (const auto* slice = std::get_if<Slice>(&term)) return *slice;
  const auto* value = std::get_if<Value>(&term);
  if (value == nullptr || !HasItems(*value)) return std::nullopt;
  return Slice::Of(*value);
}

const Value* AsEntries(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  const bool entries = value != nullptr && value->is_dict() && HasItems(value->keys()) &&
                       HasItems(value->values()) &&
                       value->keys().count() == value->values().count();
  return entries ? value : nullptr;
}

bool IsTableTerm(const Term& term) {
  if (std::holds_alternative<TableView>(term)) return true;
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && (value->is_table() || value->is_keyed_table());
}

absl::StatusOr<std::optional<size_t>> CountOfItems(Context& context, const Term& term) {
  if (const auto* slice = std::get_if<Slice>(&term)) return slice->count();
  if (const Value* entries = AsEntries(term)) return entries->keys().count();
  if (IsTableTerm(term)) {
    TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, term));
    return view.count();
  }
  const auto* value = std::get_if<Value>(&term);
  if (value == nullptr || !HasItems(*value)) return std::nullopt;
  return value->count();
}

absl::StatusOr<Term> ItemsAt(Context& context, Term term, ScratchVector<uint32_t> positions) {
  Budget& budget = context.budget;
  if (IsTableTerm(term)) {
    TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(term)));
    TS_ASSIGN_OR_RETURN(TableView rows, RowsInOrder(view, std::move(positions), budget));
    return rows;
  }
  if (const Value* entries = AsEntries(term)) {
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(*entries)));
    return Value::Dict(TakeItems(entries->keys(), positions),
                       TakeItems(entries->values(), positions));
  }
  const std::optional<Slice> slice = SliceOf(term);
  if (!slice.has_value()) return TypeError("items of an atom");
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> rows,
                      RowsAt(*slice->rows, std::move(positions), budget));
  TS_ASSIGN_OR_RETURN(Value items, GatherRows(slice->column, rows, budget));
  if (items.is_list()) return Collapse(std::move(items.mutable_items()));
  return items;
}

}  // namespace tickstack::query
