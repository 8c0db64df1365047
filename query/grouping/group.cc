#include "query/grouping/group.h"

#include <algorithm>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/keys.h"
#include "query/kernels/order.h"

namespace tickstack::query {
namespace {

// The groups of all rows of a table by its indexed column.
class IndexedGroups final : public Groups {
 public:
  // `ids` and `ends` are in the order of `names`, which ascend.
  IndexedGroups(Slice key, Value names, ScratchVector<SymbolId> ids, GroupEnds ends)
      : Groups({std::move(names)}, ids.size()),
        key_(std::move(key)),
        ids_(std::move(ids)),
        ends_(std::move(ends)) {}

  std::shared_ptr<const RowSet> RowsOf(size_t group) const override {
    return std::make_shared<const RowSet>(
        RowSet::FromPostings(*key_.column.snapshot().RowsOf(ids_[group])));
  }
  const GroupEnds* ends() const override { return &ends_; }
  absl::StatusOr<const GroupNumbers*> Numbers(Budget& budget) override {
    if (!numbers_.has_value()) {
      TS_ASSIGN_OR_RETURN(numbers_, NumberBySymbol(key_, ids_, budget));
    }
    return &*numbers_;
  }

 private:
  const Slice key_;
  const ScratchVector<SymbolId> ids_;
  const GroupEnds ends_;
  std::optional<GroupNumbers> numbers_;
};

// The groups of the rows of some symbols.
class SymbolGroups final : public Groups {
 public:
  // The symbols by group, and the column at all rows of its table. Set if the groups have most of
  // these rows and none lacks a row of its symbol.
  struct All {
    Slice key;
    ScratchVector<SymbolId> ids;
  };

  SymbolGroups(Value names, std::vector<std::shared_ptr<const RowSet>> rows, GroupEnds ends,
               std::optional<All> all)
      : Groups({std::move(names)}, rows.size()),
        rows_(std::move(rows)),
        ends_(std::move(ends)),
        all_(std::move(all)) {}

  std::shared_ptr<const RowSet> RowsOf(size_t group) const override { return rows_[group]; }
  const GroupEnds* ends() const override { return &ends_; }
  // Uses one pass over all rows where the groups have most of them: that is less work than reading
  // each group's scattered rows. Rows of other symbols are in unused groups.
  absl::StatusOr<const GroupNumbers*> Numbers(Budget& budget) override {
    if (!all_.has_value()) return nullptr;
    if (!numbers_.has_value()) {
      TS_ASSIGN_OR_RETURN(numbers_, NumberBySymbol(all_->key, all_->ids, budget));
    }
    return &*numbers_;
  }

 private:
  const std::vector<std::shared_ptr<const RowSet>> rows_;
  const GroupEnds ends_;
  const std::optional<All> all_;
  std::optional<GroupNumbers> numbers_;
};

class NumberedGroups final : public Groups {
 public:
  NumberedGroups(NumberedKeys keys, std::shared_ptr<const RowSet> rows)
      : Groups(std::move(keys.keys), keys.numbers.order.size()),
        numbers_(std::move(keys.numbers)),
        rows_(std::move(rows)) {}

  absl::Status PrepareRows(Budget& budget) override {
    if (sorted_ != nullptr) return absl::OkStatus();
    TS_RETURN_IF_ERROR(budget.Charge(rows_->count(), 2 * sizeof(uint32_t)));
    TS_RETURN_IF_ERROR(budget.Charge(numbers_.slots, sizeof(size_t)));
    grouping_.emplace(numbers_.of_row, numbers_.slots);
    const ScratchVector<uint32_t> row_numbers = rows_->ToVector();
    // Puts all groups' row numbers into one block of memory that the groups share.
    auto sorted = std::make_shared<ScratchVector<uint32_t>>();
    sorted->reserve(rows_->count());
    for (uint32_t position : grouping_->positions()) sorted->push_back(row_numbers[position]);
    sorted_ = std::move(sorted);
    return absl::OkStatus();
  }
  std::shared_ptr<const RowSet> RowsOf(size_t group) const override {
    const auto [begin, end] = grouping_->RangeOf(numbers_.order[group]);
    return std::make_shared<const RowSet>(
        RowSet::Borrow(std::span<const uint32_t>(*sorted_).subspan(begin, end - begin), sorted_));
  }
  absl::StatusOr<const GroupNumbers*> Numbers(Budget&) override { return &numbers_; }

 private:
  const GroupNumbers numbers_;
  const std::shared_ptr<const RowSet> rows_;
  std::optional<Grouping> grouping_;
  std::shared_ptr<const ScratchVector<uint32_t>> sorted_;  // Row numbers by group.
};

void Add(GroupEnds& ends, const PostingEnds& of_group) {
  ends.first_rows.push_back(of_group.first_row);
  ends.last_rows.push_back(of_group.last_row);
  ends.rows.push_back(of_group.rows);
}

template <typename T>
void Reorder(ScratchVector<T>& items, std::span<const uint32_t> order) {
  ScratchVector<T> ordered(items.size());
  std::ranges::transform(order, ordered.begin(), [&](uint32_t at) { return items[at]; });
  items = std::move(ordered);
}

void Reorder(GroupEnds& ends, std::span<const uint32_t> order) {
  Reorder(ends.first_rows, order);
  Reorder(ends.last_rows, order);
  Reorder(ends.rows, order);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Groups>> GroupsFromIndex(const Slice& key, Budget& budget) {
  if (!key.column.captured() || !key.IsAll()) return nullptr;
  const Snapshot& snapshot = key.column.snapshot();
  if (snapshot.table().indexed_column() != static_cast<int>(key.column.index())) return nullptr;
  const SymbolTable& symbols = key.column.symbols();
  const int32_t known = symbols.size();
  SymbolVector names;
  ScratchVector<SymbolId> ids;
  GroupEnds ends;
  for (int32_t id = -1; id < known; ++id) {
    if (id % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    const SymbolId symbol = id < 0 ? kNullSymbol : id;
    const PostingEnds of_symbol = *snapshot.EndsOf(symbol);
    if (of_symbol.rows == 0) continue;
    ids.push_back(symbol);
    Add(ends, of_symbol);
  }
  constexpr size_t kGroupBytes = sizeof(SymbolId) + 16 + 32;  // With its name.
  TS_RETURN_IF_ERROR(budget.Charge(ids.size(), kGroupBytes));
  names.reserve(ids.size(), ids.size() * 8);
  for (SymbolId id : ids) names.push_back(symbols.NameOf(id));
  const Value unsorted = Value::Symbols(std::move(names));
  const ScratchVector<uint32_t> order = AscendingOrder(unsorted);
  Reorder(ids, order);
  Reorder(ends, order);
  return std::make_unique<IndexedGroups>(key, TakeItems(unsorted, order), std::move(ids),
                                         std::move(ends));
}

absl::StatusOr<std::unique_ptr<Groups>> GroupsOfSymbols(const SymbolRows& symbols,
                                                        const RowSet& rows_around, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(symbols.count(), 128));
  SymbolVector names;
  std::vector<std::shared_ptr<const RowSet>> unsorted_rows;
  GroupEnds ends;
  ScratchVector<SymbolId> ids;
  const AnyColumn& key = symbols.key();
  size_t rows_of_all = 0;
  bool whole = key.captured() && rows_around.IsAllOf(key.rows());  // True if no symbol lacks a row.
  for (size_t i = 0; i < symbols.count(); ++i) {
    const std::shared_ptr<const RowSet>& rows = symbols.RowsOf(i);
    if (rows->count() == 0) continue;
    names.push_back(symbols.NameOf(i));
    ids.push_back(symbols.IdOf(i));
    rows_of_all += rows->count();
    whole = whole && key.snapshot().EndsOf(ids.back())->rows == rows->count();
    unsorted_rows.push_back(rows);
    Add(ends, {static_cast<uint32_t>(rows->count()), static_cast<uint32_t>(rows->At(0)),
               static_cast<uint32_t>(rows->At(rows->count() - 1))});
  }
  const Value unsorted = Value::Symbols(std::move(names));
  const ScratchVector<uint32_t> order = AscendingOrder(unsorted);
  std::vector<std::shared_ptr<const RowSet>> rows;
  for (uint32_t at : order) rows.push_back(std::move(unsorted_rows[at]));
  Reorder(ends, order);
  std::optional<SymbolGroups::All> all;
  if (whole && rows_of_all > key.rows() / 2) {
    Reorder(ids, order);
    all = SymbolGroups::All{
        Slice{key, std::make_shared<const RowSet>(RowSet::Range(0, key.rows()))}, std::move(ids)};
  }
  return std::make_unique<SymbolGroups>(TakeItems(unsorted, order), std::move(rows),
                                        std::move(ends), std::move(all));
}

absl::StatusOr<std::unique_ptr<Groups>> GroupByValues(std::span<const KeyColumn> keys,
                                                      std::shared_ptr<const RowSet> rows,
                                                      Budget& budget) {
  if (!keys.empty() && keys[0].rows() != rows->count()) {
    return LengthError("by {} items for {} rows", keys[0].rows(), rows->count());
  }
  TS_ASSIGN_OR_RETURN(NumberedKeys numbered, NumberGroups(keys, budget));
  return std::make_unique<NumberedGroups>(std::move(numbered), std::move(rows));
}

}  // namespace tickstack::query
