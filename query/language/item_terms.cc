#include "query/language/item_terms.h"

#include <algorithm>
#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/dictionary.h"

namespace tickstack::query {
namespace {

bool IsNamesAndItems(const Value& value) {
  return value.is(Type::kDict) && value.keys().is(Type::kSymbol) && value.keys().count() > 0 &&
         (value.values().is_vector() || value.values().is_list()) &&
         value.values().count() == value.keys().count();
}

bool HasDistinctNames(const SymbolVector& names) {
  UniqueNames unique;
  for (size_t i = 0; i < names.size(); ++i) {
    if (unique.Next(names[i]) != names[i]) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<ItemTerms> ItemTerms::Of(Term term, Budget& budget) {
  if (auto* view = std::get_if<TableView>(&term)) {
    if (view->key_columns == 0) {
      const size_t n = view->count();
      return ItemTerms(Kind::kRows, n, std::move(term));
    }
    TS_ASSIGN_OR_RETURN(term, ToValue(std::move(term), budget));  // It is a dictionary of tables.
  }
  if (auto* value = std::get_if<Value>(&term)) {
    if (value->is_table()) {
      TS_ASSIGN_OR_RETURN(TableView view, ViewOf(std::move(*value)));
      return Of(Term(std::move(view)), budget);
    }
    if (value->is_dict()) {
      Value keys = value->keys();
      Value values = value->values();
      TS_ASSIGN_OR_RETURN(ItemTerms items, Of(Term(std::move(values)), budget));
      if (items.is_atom()) return TypeError("items of a {}", NameOf(value->type()));
      items.keys_ = std::move(keys);
      return items;
    }
    if (!value->is_vector() && !value->is_list()) return ItemTerms(Kind::kAtom, 1, std::move(term));
    if (value->is_list()) {
      auto list = std::make_shared<Value>(std::move(*value));
      ItemTerms items(Kind::kItems, list->count(), Value());
      items.list_ = std::move(list);
      return items;
    }
    term = Slice::Of(std::move(*value));
  }
  if (const auto* slice = std::get_if<Slice>(&term)) {
    const size_t n = slice->count();
    ItemTerms items(Kind::kItems, n, Value());
    if (slice->type() == Type::kList && slice->IsAll()) items.list_ = slice->column.shared_value();
    items.term_ = std::move(term);
    return items;
  }
  return ItemTerms(Kind::kAtom, 1, std::move(term));
}

absl::StatusOr<Term> ItemTerms::At(size_t i) const {
  if (kind_ == Kind::kAtom) return term_;
  if (places_ == nullptr) return Own(i);
  const uint32_t place = (*places_)[i];
  return place == kNoItem ? missing_ : Own(place);
}

absl::StatusOr<Term> ItemTerms::Missing() const {
  if (kind_ == Kind::kRows) {
    TS_ASSIGN_OR_RETURN(Value row, RowAt(std::get<TableView>(term_), kNoItem));
    return Term(std::move(row));
  }
  if (list_ != nullptr) return Term(MissingItem(list_->items()));
  return Term(NullOf(std::get<Slice>(term_).type()));
}

absl::Status ItemTerms::AlignKeys(std::vector<ItemTerms>& sides, Budget& budget) {
  const ItemTerms* first = nullptr;
  bool alike = true;
  for (const ItemTerms& side : sides) {
    if (!side.keys_.has_value()) continue;
    if (first == nullptr) first = &side;
    alike = alike && Match(*first->keys_, *side.keys_);
  }
  if (alike) return absl::OkStatus();
  Value all = *first->keys_;
  for (const ItemTerms& side : sides) {
    if (&side == first || !side.keys_.has_value()) continue;
    TS_ASSIGN_OR_RETURN(AlignedKeys aligned, query::AlignKeys(all, *side.keys_, budget));
    all = std::move(aligned.keys);
  }
  for (ItemTerms& side : sides) {
    if (!side.keys_.has_value()) continue;
    TS_ASSIGN_OR_RETURN(AlignedKeys aligned, query::AlignKeys(all, *side.keys_, budget));
    TS_ASSIGN_OR_RETURN(side.missing_, side.Missing());
    side.places_ = std::make_shared<const ScratchVector<uint32_t>>(std::move(aligned.in_y));
    side.count_ = side.places_->size();
    side.keys_ = std::move(aligned.keys);
  }
  return absl::OkStatus();
}

absl::StatusOr<Term> ItemTerms::Own(size_t i) const {
  if (kind_ == Kind::kRows) {
    TS_ASSIGN_OR_RETURN(Value row, RowAt(std::get<TableView>(term_), i));
    return Term(std::move(row));
  }
  if (list_ == nullptr) {
    TS_ASSIGN_OR_RETURN(Value item, std::get<Slice>(term_).At(i));
    return Term(std::move(item));
  }
  Value& item = list_->mutable_items()[i];
  if (!item.is_vector() && !item.is_list()) return Term(item);
  AnyColumn column(std::shared_ptr<Value>(list_, &item));
  auto rows = std::make_shared<const RowSet>(RowSet::Range(0, column.rows()));
  return Term(Slice{std::move(column), std::move(rows)});
}

absl::StatusOr<Value> CollectItems(std::vector<Value> items, Budget& budget) {
  if (items.empty() || !IsNamesAndItems(items[0])) return Collapse(std::move(items));
  const SymbolVector names = items[0].keys().symbols();
  const bool rows = HasDistinctNames(names) && std::ranges::all_of(items, [&](const Value& item) {
                      return IsNamesAndItems(item) && item.keys().symbols() == names;
                    });
  if (!rows) return Value::List(std::move(items));
  std::vector<Value> columns;
  for (size_t column = 0; column < names.size(); ++column) {
    TS_RETURN_IF_ERROR(budget.ChargeItems(items.size()));
    std::vector<Value> cells;
    for (const Value& item : items) cells.push_back(ItemAt(item.values(), column));
    columns.push_back(Collapse(std::move(cells)));
  }
  return Value::Table(names, std::move(columns));
}

}  // namespace tickstack::query
