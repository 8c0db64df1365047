// Filters rows by conditions on names.

#include "query/columns/errors.h"
#include "query/kernels/filter.h"
#include "query/kernels/select_rows.h"
#include "query/kernels/text_patterns.h"

namespace tickstack::query {
namespace {

// The set of symbols that pass a condition, by number. It replaces a condition on names, so that no
// row's name is ever read.
class SymbolIdSet {
 public:
  explicit SymbolIdSet(const SymbolTable& symbols)
      : symbols_(symbols), ids_(static_cast<size_t>(symbols.size())) {}

  void Add(std::string_view name) {
    if (name.empty()) null_ = true;
    const std::optional<SymbolId> id = symbols_.Find(name);
    if (!id.has_value()) all_known_ = false;
    // Skips a name that is newer than this set: no row of the snapshot has it.
    if (id.has_value() && *id >= 0 && static_cast<size_t>(*id) < ids_.size()) {
      ids_[static_cast<size_t>(*id)] = true;
    }
  }
  absl::Status AddMatching(PatternMatcher pattern) {
    all_known_ = false;
    TS_ASSIGN_OR_RETURN(null_, pattern.Matches(std::string_view()));
    for (size_t id = 0; id < ids_.size(); ++id) {
      TS_ASSIGN_OR_RETURN(ids_[id], pattern.Matches(symbols_.NameOf(static_cast<SymbolId>(id))));
    }
    return absl::OkStatus();
  }
  // Returns whether names without a number cannot pass.
  bool all_known() const { return all_known_; }
  bool Contains(SymbolId id) const {
    return id < 0 ? null_ : static_cast<size_t>(id) < ids_.size() && ids_[static_cast<size_t>(id)];
  }
  template <typename F>
  void ForEach(F f) const {
    if (null_) f(kNullSymbol);
    for (size_t id = 0; id < ids_.size(); ++id) {
      if (ids_[id]) f(static_cast<SymbolId>(id));
    }
  }

 private:
  const SymbolTable& symbols_;
  ScratchVector<uint8_t> ids_;
  bool null_ = false;
  bool all_known_ = true;
};

// Returns the symbols that pass; nullopt if the condition is not on names.
absl::StatusOr<std::optional<SymbolIdSet>> SymbolsOf(const SymbolTable& symbols,
                                                     const Condition& condition,
                                                     const Value& constant, const Budget& budget) {
  SymbolIdSet set(symbols);
  const bool symbol = constant.type() == Type::kSymbol;
  if (condition.kind == Condition::Kind::kLike && constant.type() == Type::kChar) {
    TS_RETURN_IF_ERROR(set.AddMatching(PatternMatcher(constant.text(), budget)));
  } else if (symbol && constant.is_atom() && condition.kind != Condition::Kind::kWithin &&
             (condition.kind == Condition::Kind::kIn || condition.op == Comparison::kEqual ||
              condition.op == Comparison::kNotEqual)) {
    set.Add(constant.symbol());
  } else if (symbol && constant.is_vector() && condition.kind == Condition::Kind::kIn) {
    for (size_t i = 0; i < constant.count(); ++i) set.Add(constant.symbols()[i]);
  } else {
    return std::nullopt;
  }
  return std::optional(std::move(set));
}

bool Negates(const Condition& condition) {
  return condition.kind == Condition::Kind::kCompare && condition.op == Comparison::kNotEqual;
}

// Returns the rows that pass, by the index.
absl::StatusOr<std::optional<SymbolRows>> FromIndex(const Slice& slice, const Condition& condition,
                                                    const SymbolIdSet& set) {
  if (!slice.IsAll() || !slice.column.indexed() || Negates(condition)) return std::nullopt;
  // The condition may ask for rows whose position has no name.
  if (slice.column.stored() != nullptr && !set.all_known()) {
    TS_RETURN_IF_ERROR(slice.column.stored()->CheckNames());
  }
  ScratchVector<SymbolId> ids;
  set.ForEach([&](SymbolId id) { ids.push_back(id); });
  return SymbolRows::Of(slice.column, ids);
}

}  // namespace

absl::StatusOr<std::optional<SymbolRows>> FilterToSymbols(const TableView& view, size_t column,
                                                          const std::shared_ptr<const RowSet>& rows,
                                                          Condition condition,
                                                          const Value& constant,
                                                          const Budget& budget) {
  const AnyColumn* const key = view.columns[column].gathered();
  if (key == nullptr || key->type() != Type::kSymbol || !key->has_ids()) return std::nullopt;
  TS_ASSIGN_OR_RETURN(const std::optional<SymbolIdSet> set,
                      SymbolsOf(key->symbols(), condition, constant, budget));
  if (!set.has_value()) return std::nullopt;
  return FromIndex(Slice{*key, rows}, condition, *set);
}

absl::StatusOr<std::optional<RowSet>> internal::FilterSymbols(const Slice& slice,
                                                              const Condition& condition,
                                                              const Value& constant,
                                                              Budget& budget) {
  if (!slice.column.has_ids()) return std::nullopt;
  TS_ASSIGN_OR_RETURN(const std::optional<SymbolIdSet> set,
                      SymbolsOf(slice.column.symbols(), condition, constant, budget));
  if (!set.has_value()) return std::nullopt;
  TS_ASSIGN_OR_RETURN(const std::optional<SymbolRows> indexed, FromIndex(slice, condition, *set));
  if (indexed.has_value()) return indexed->Merge(budget);
  const bool negated = Negates(condition);
  return SelectRows<SymbolId>(slice, budget,
                              [&](SymbolId id) { return set->Contains(id) != negated; });
}

}  // namespace tickstack::query
