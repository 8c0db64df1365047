#include "query/language/cuts.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/columns/table_view.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"

namespace tickstack::query {
namespace {

absl::StatusOr<ScratchVector<size_t>> BeginsOf(const Value& begins, size_t count, Budget& budget) {
  if (begins.is_list() && begins.count() == 0) return ScratchVector<size_t>();
  if (!begins.is_vector()) return TypeError("a cut at a {}", NameOf(begins.type()));
  TS_RETURN_IF_ERROR(budget.Charge(begins.count(), sizeof(size_t)));
  ScratchVector<size_t> places;
  places.reserve(begins.count());
  for (size_t i = 0; i < begins.count(); ++i) {
    const std::optional<int64_t> begin = IndexOf(ItemAt(begins, i));
    if (!begin.has_value()) return TypeError("a cut at {}s", NameOf(begins.type()));
    if (*begin < 0 || static_cast<uint64_t>(*begin) > count) {
      return DomainError("a cut at {} of {} items", *begin, count);
    }
    if (!places.empty() && static_cast<size_t>(*begin) < places.back()) {
      return DomainError("a cut at {} behind one at {}", *begin, places.back());
    }
    places.push_back(static_cast<size_t>(*begin));
  }
  return places;
}

// Calls f(begin, count) for each piece.
template <typename F>
absl::StatusOr<Term> Pieces(const Value& begins, size_t count, Budget& budget, F f) {
  TS_ASSIGN_OR_RETURN(const ScratchVector<size_t> places, BeginsOf(begins, count, budget));
  TS_RETURN_IF_ERROR(budget.ChargeItems(places.size()));
  std::vector<Value> pieces;
  pieces.reserve(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const size_t end = i + 1 < places.size() ? places[i + 1] : count;
    TS_ASSIGN_OR_RETURN(pieces.emplace_back(), f(places[i], end - places[i]));
  }
  return Value::List(std::move(pieces));
}

}  // namespace

absl::StatusOr<Term> CutAt(Context& context, const Value& begins, Term term) {
  Budget& budget = context.budget;
  if (IsTableTerm(term)) {
    TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(term)));
    if (view.key_columns > 0) return NyiError("a cut of a keyed table");
    return Pieces(begins, view.count(), budget, [&](size_t begin, size_t count) {
      TableView piece = view;
      piece.rows = std::make_shared<const RowSet>(view.rows->Slice(begin, count));
      return Release(std::move(piece), budget);
    });
  }
  const std::optional<Slice> slice = SliceOf(term);
  if (!slice.has_value()) return TypeError("a cut of what is no list");
  return Pieces(
      begins, slice->count(), budget, [&](size_t begin, size_t count) -> absl::StatusOr<Value> {
        const Slice piece{slice->column,
                          std::make_shared<const RowSet>(slice->rows->Slice(begin, count))};
        TS_ASSIGN_OR_RETURN(Value items, Materialise(piece, budget));
        items.set_attribute(Attribute::kNone);
        if (items.is_list()) return Collapse(std::move(items.mutable_items()));
        return items;
      });
}

}  // namespace tickstack::query
