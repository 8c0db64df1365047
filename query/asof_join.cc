#include "query/asof_join.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "query/errors.h"
#include "query/keys.h"

namespace tickstack::query {
namespace {

// Times of any type as integers of the same order; nulls first.
template <typename T>
int64_t OrderedTime(T time) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(time)) return kNullLong;
    const auto bits = std::bit_cast<int64_t>(double{time} + 0.0);
    return bits < 0 ? -(bits & kInfinityLong) : bits;
  } else if constexpr (std::is_signed_v<T>) {
    return time == std::numeric_limits<T>::min() ? kNullLong : int64_t{time};
  } else {
    return time;
  }
}

absl::StatusOr<ScratchVector<int64_t>> OrderedTimes(const Slice& slice, Budget& budget) {
  if (!IsFixedWidth(slice.type()) || slice.type() == Type::kGuid) {
    return TypeError("as of a column of {}", NameOf(slice.type()));
  }
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(int64_t)));
  ScratchVector<int64_t> times;
  times.reserve(slice.count());
  TS_RETURN_IF_ERROR(
      VisitElementType(slice.type(), [&]<typename T>(std::type_identity<T>) -> absl::Status {
        if constexpr (std::is_same_v<T, Guid>) {
          return absl::OkStatus();
        } else {
          return ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
            for (T time : block.elements) times.push_back(OrderedTime(time));
          });
        }
      }));
  return times;
}

// Rows of one key with their times, ascending by time; of equal times in row order.
struct TimedRows {
  ScratchVector<uint32_t> rows;
  ScratchVector<int64_t> times;

  void Sort() {
    if (std::ranges::is_sorted(times)) return;
    ScratchVector<uint32_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(times[i], i); });
    TimedRows sorted;
    for (uint32_t i : order) {
      sorted.rows.push_back(rows[i]);
      sorted.times.push_back(times[i]);
    }
    *this = std::move(sorted);
  }
};

TimedRows Pick(std::span<const uint32_t> positions, std::span<const int64_t> times) {
  TimedRows picked;
  picked.rows.assign(positions.begin(), positions.end());
  picked.times.reserve(positions.size());
  for (uint32_t at : positions) picked.times.push_back(times[at]);
  picked.Sort();
  return picked;
}

// Where the ascending `times` are beyond `now`, given that those before `after` are not: looks
// ahead 1, 2, 4, 8... and then halves, without a branch that depends on what it finds there.
template <typename T>
size_t EndOf(std::span<const T> times, size_t after, T now) {
  if (after == times.size() || times[after] > now) return after;
  size_t low = after, step = 1;  // times[low] <= now, always.
  while (step < times.size() - low && times[low + step] <= now) {
    low += step;
    step *= 2;
  }
  size_t high = std::min(low + step, times.size());  // The end, or times[high] > now.
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (times[middle] <= now ? low : high) = middle;
  }
  return high;
}

absl::Status CheckMatch(size_t trades, size_t quotes, size_t results) {
  if (results == trades && quotes < kNoRow) return absl::OkStatus();
  return InvalidArgument("asof match: {} results for {} trades and {} quotes", results, trades,
                         quotes);
}

// Gives left rows the right rows that prevail. `prevailing` are positions in `right_rows`.
void Give(std::span<const uint32_t> left_rows, std::span<const uint32_t> right_rows,
          std::span<const uint32_t> prevailing, std::span<uint32_t> matched) {
  for (size_t i = 0; i < prevailing.size(); ++i) {
    if (prevailing[i] != kNoRow) matched[left_rows[i]] = right_rows[prevailing[i]];
  }
}

// Joins one key: `left.rows` are positions of `matched`, which receives right row numbers. `right`
// has sorted times.
void MatchKey(const TimedRows& left, const RowSet& right, std::span<uint32_t> matched) {
  const std::span<const PostingRun> runs = right.runs();
  ScratchVector<uint32_t> prevailing;
  size_t begin = 0;
  for (size_t i = 0; i < runs.size() && begin < left.times.size(); ++i) {
    // Left rows before the next run starts can only match this one, or one before it.
    size_t end = left.times.size();
    if (i + 1 < runs.size()) {
      const auto next =
          std::lower_bound(left.times.begin() + static_cast<ptrdiff_t>(begin), left.times.end(),
                           right.times().ExactNs(runs[i + 1].rows.front()));
      end = static_cast<size_t>(next - left.times.begin());
    }
    prevailing.resize(end - begin);
    TS_CHECK(AsofMatch(std::span(left.times).subspan(begin, end - begin), runs[i], right.times(),
                       prevailing)
                 .ok());
    Give(std::span(left.rows).subspan(begin), runs[i].rows, prevailing, matched);
    begin = end;
  }
}

void MatchKey(const TimedRows& left, const TimedRows& right, std::span<uint32_t> matched) {
  std::vector<uint32_t> prevailing(left.times.size());
  TS_CHECK(AsofMatch(left.times, right.times, prevailing).ok());
  Give(left.rows, right.rows, prevailing, matched);
}

// The columns of a join, found in both tables.
struct Plan {
  std::vector<size_t> left_keys, right_keys;
  size_t left_time = 0, right_time = 0;
};

absl::StatusOr<Plan> MakePlan(const Value& columns, const TableView& left, const TableView& right) {
  if (columns.type() != Type::kSymbol) return TypeError("columns of {}", NameOf(columns.type()));
  if (columns.count() == 0) return LengthError("no columns to join on");
  Plan plan;
  for (size_t i = 0; i < columns.count(); ++i) {
    const std::string_view name = columns.is_atom() ? columns.symbol() : columns.symbols()[i];
    const int in_left = left.Find(name), in_right = right.Find(name);
    if (in_left < 0 || in_right < 0) return NameError(name);
    const auto l = static_cast<size_t>(in_left), r = static_cast<size_t>(in_right);
    if (left.columns[l].type() != right.columns[r].type()) {
      return TypeError("column {} is {} on the left and {} on the right", name,
                       NameOf(left.columns[l].type()), NameOf(right.columns[r].type()));
    }
    if (i + 1 == columns.count()) {
      plan.left_time = l;
      plan.right_time = r;
    } else {
      plan.left_keys.push_back(l);
      plan.right_keys.push_back(r);
    }
  }
  return plan;
}

// The right table through its index: what rows a symbol has, with their times.
class IndexedRight {
 public:
  // nullopt: it has no index that serves this join.
  static std::optional<IndexedRight> Make(const Plan& plan, const TableView& right) {
    if (plan.right_keys.size() != 1) return std::nullopt;
    const Column* const gathered_key = right.columns[plan.right_keys[0]].gathered();
    const Column* const gathered_time = right.columns[plan.right_time].gathered();
    if (gathered_key == nullptr || gathered_time == nullptr) return std::nullopt;
    const Column &key = *gathered_key, &time = *gathered_time;
    if (!key.captured() || !time.captured()) return std::nullopt;
    const Snapshot& snapshot = key.snapshot();
    if (snapshot.table().indexed_column() != static_cast<int>(key.index())) return std::nullopt;
    if (snapshot.schema().columns[time.index()].name != "time") return std::nullopt;
    IndexedRight indexed(key, right.rows);
    if (right.rows->IsAllOf(snapshot.rows())) return indexed;
    // Rows with times come out of the index, and for one symbol.
    if (!right.rows->has_sorted_times()) return std::nullopt;
    indexed.only_ = key.SymbolAt(right.rows->At(0));
    return indexed;
  }

  RowSet RowsOf(std::string_view name) const {
    if (only_.has_value()) return *only_ == name ? *rows_ : RowSet();
    const std::optional<SymbolId> id =
        name.empty() ? std::optional(kNullSymbol) : key_.symbols().Find(name);
    if (!id.has_value()) return RowSet();
    std::optional<Postings> postings = key_.snapshot().RowsOf(*id);
    return postings.has_value() ? RowSet::OfPostings(*postings) : RowSet();
  }

 private:
  IndexedRight(Column key, std::shared_ptr<const RowSet> rows)
      : key_(std::move(key)), rows_(std::move(rows)) {}

  Column key_;
  std::shared_ptr<const RowSet> rows_;
  std::optional<std::string_view> only_;  // The one symbol that the rows are of.
};

// The right rows of one symbol when their times went down somewhere.
absl::StatusOr<TimedRows> SortedRows(const Column& time, RowSet rows, Budget& budget) {
  TimedRows timed;
  timed.rows = rows.ToVector();
  const auto shared = std::make_shared<const RowSet>(std::move(rows));
  TS_ASSIGN_OR_RETURN(timed.times, OrderedTimes(Slice{time, shared}, budget));
  timed.Sort();
  return timed;
}

absl::Status MatchByIndex(const Plan& plan, const IndexedRight& indexed, const TableView& left,
                          const TableView& right, std::span<const int64_t> left_times,
                          std::span<uint32_t> matched, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Slice keys, left.ColumnAt(plan.left_keys[0], budget));
  TS_ASSIGN_OR_RETURN(const Column right_time, right.columns[plan.right_time].Get(budget));
  KeyNumbers numbers(1);
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> number,
                      numbers.Number(std::span(&keys, 1), budget));
  const Grouping groups(number, numbers.size());
  for (uint32_t group = 0; group < groups.groups(); ++group) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const std::span<const uint32_t> positions = groups.PositionsOf(group);
    const TimedRows timed = Pick(positions, left_times);
    RowSet rows = indexed.RowsOf(keys.column.SymbolAt(keys.rows->At(positions[0])));
    if (rows.has_sorted_times()) {
      MatchKey(timed, rows, matched);
    } else if (rows.count() > 0) {
      TS_ASSIGN_OR_RETURN(const TimedRows sorted, SortedRows(right_time, std::move(rows), budget));
      MatchKey(timed, sorted, matched);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Slice>> SlicesOf(const TableView& view, std::span<const size_t> columns,
                                            Budget& budget) {
  std::vector<Slice> slices;
  for (size_t column : columns) {
    TS_ASSIGN_OR_RETURN(Slice slice, view.ColumnAt(column, budget));
    slices.push_back(std::move(slice));
  }
  return slices;
}

absl::Status MatchByHash(const Plan& plan, const TableView& left, const TableView& right,
                         std::span<const int64_t> left_times, std::span<uint32_t> matched,
                         Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Slice right_time, right.ColumnAt(plan.right_time, budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<int64_t> right_times, OrderedTimes(right_time, budget));
  ScratchVector<uint32_t> left_number(left.count(), 0), right_number(right.count(), 0);
  uint32_t keys = 1;
  if (!plan.left_keys.empty()) {
    KeyNumbers numbers(plan.left_keys.size());
    TS_ASSIGN_OR_RETURN(const std::vector<Slice> left_keys, SlicesOf(left, plan.left_keys, budget));
    TS_ASSIGN_OR_RETURN(const std::vector<Slice> right_keys,
                        SlicesOf(right, plan.right_keys, budget));
    TS_ASSIGN_OR_RETURN(left_number, numbers.Number(left_keys, budget));
    TS_ASSIGN_OR_RETURN(right_number, numbers.Number(right_keys, budget));
    keys = numbers.size();
  }
  TS_RETURN_IF_ERROR(budget.Charge(left.count() + right.count(), 24));
  const Grouping left_groups(left_number, keys), right_groups(right_number, keys);
  const ScratchVector<uint32_t> right_rows = right.rows->ToVector();
  for (uint32_t key = 0; key < keys; ++key) {
    if (left_groups.PositionsOf(key).empty()) continue;
    TS_RETURN_IF_ERROR(budget.CheckTime());
    TimedRows candidates = Pick(right_groups.PositionsOf(key), right_times);
    for (uint32_t& row : candidates.rows) row = right_rows[row];
    MatchKey(Pick(left_groups.PositionsOf(key), left_times), candidates, matched);
  }
  return absl::OkStatus();
}

// The items of a list decide its type, so that one is gathered at once (view_column.h).
absl::StatusOr<ViewColumn> Settled(ViewColumn column, Budget& budget) {
  if (column.type() == Type::kList) TS_RETURN_IF_ERROR(column.Get(budget).status());
  return column;
}

// A right column of the result; `common` is the left one of the same name, if there is one. That
// gives the items where no row was found.
absl::StatusOr<ViewColumn> RightColumn(const ViewColumn& right, const ViewColumn* common,
                                       const TableView& left, std::string_view name,
                                       const SharedPositions& matched, Budget& budget) {
  if (common == nullptr || std::ranges::find(*matched, kNoRow) == matched->end()) {
    return Settled(ViewColumn::AtPositions(right, matched), budget);
  }
  if (common->type() != right.type()) {
    return TypeError("column {} is {} on the left and {} on the right", name,
                     NameOf(common->type()), NameOf(right.type()));
  }
  return Settled(ViewColumn::AtPositionsOr(right, matched, *common, left.rows), budget);
}

absl::StatusOr<TableView> Result(const Plan& plan, const TableView& left, const TableView& right,
                                 SharedPositions matched, AsofTime time, Budget& budget) {
  TableView result;
  result.names = left.names;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, left.count()));
  result.key_columns = left.key_columns;
  for (const ViewColumn& column : left.columns) {
    TS_ASSIGN_OR_RETURN(ViewColumn at_rows, Settled(ViewColumn::AtRows(column, left.rows), budget));
    result.columns.push_back(std::move(at_rows));
  }
  for (size_t i = 0; i < right.columns.size(); ++i) {
    if (std::ranges::find(plan.right_keys, i) != plan.right_keys.end()) continue;
    if (i == plan.right_time && time == AsofTime::kLeft) continue;
    const int common = left.Find(right.names[i]);
    const auto at = static_cast<size_t>(common);
    TS_ASSIGN_OR_RETURN(ViewColumn column,
                        RightColumn(right.columns[i], common < 0 ? nullptr : &left.columns[at],
                                    left, right.names[i], matched, budget));
    if (common < 0) {
      result.names.push_back(right.names[i]);
      result.columns.push_back(std::move(column));
    } else {
      result.columns[at] = std::move(column);
    }
  }
  return result;
}

}  // namespace

absl::Status AsofMatch(std::span<const int64_t> trade_ns, std::span<const int64_t> quote_ns,
                       std::span<uint32_t> prevailing) {
  TS_RETURN_IF_ERROR(CheckMatch(trade_ns.size(), quote_ns.size(), prevailing.size()));
  size_t after = 0;  // Quotes at or before the trade: the prevailing one is the last of them.
  for (size_t i = 0; i < trade_ns.size(); ++i) {
    after = EndOf(quote_ns, after, trade_ns[i]);
    prevailing[i] = after == 0 ? kNoRow : static_cast<uint32_t>(after - 1);
  }
  return absl::OkStatus();
}

absl::Status AsofMatch(std::span<const int64_t> trade_ns, const PostingRun& quotes,
                       const PostingTimes& times, std::span<uint32_t> prevailing) {
  TS_RETURN_IF_ERROR(CheckMatch(trade_ns.size(), quotes.rows.size(), prevailing.size()));
  // A block of trades by coarse times first, and the exact times that it asks for after that: they
  // are cache misses that then overlap, instead of each holding up the next search.
  constexpr size_t kBlock = 128;
  std::array<size_t, kBlock> end_of;
  size_t coarse_after = 0, after = 0;
  for (size_t begin = 0; begin < trade_ns.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, trade_ns.size() - begin);
    for (size_t i = 0; i < n; ++i) {
      const uint32_t now = times.CoarseOf(trade_ns[begin + i]);
      const size_t end = end_of[i] = coarse_after = EndOf(quotes.coarse, coarse_after, now);
      if (end > 0 && quotes.coarse[end - 1] == now) times.Prefetch(quotes.rows[end - 1]);
    }
    for (size_t i = 0; i < n; ++i) {
      after = times.EndOfExact(quotes, after, end_of[i], trade_ns[begin + i]);
      prevailing[begin + i] = after == 0 ? kNoRow : static_cast<uint32_t>(after - 1);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TableView> AsofJoin(const Value& columns, const TableView& left,
                                   const TableView& right, AsofTime time, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Plan plan, MakePlan(columns, left, right));
  TS_ASSIGN_OR_RETURN(const Slice left_time, left.ColumnAt(plan.left_time, budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<int64_t> left_times, OrderedTimes(left_time, budget));
  TS_RETURN_IF_ERROR(budget.Charge(left.count(), 4 * sizeof(uint64_t)));
  const auto shared = std::make_shared<ScratchVector<uint32_t>>(left.count(), kNoRow);
  const std::span<uint32_t> matched(*shared);
  if (const std::optional<IndexedRight> indexed = IndexedRight::Make(plan, right)) {
    TS_RETURN_IF_ERROR(MatchByIndex(plan, *indexed, left, right, left_times, matched, budget));
  } else {
    TS_RETURN_IF_ERROR(MatchByHash(plan, left, right, left_times, matched, budget));
  }
  return Result(plan, left, right, shared, time, budget);
}

}  // namespace tickstack::query
