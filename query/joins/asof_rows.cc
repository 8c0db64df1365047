#include "query/joins/asof_rows.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "query/columns/errors.h"
#include "query/columns/parallel.h"
#include "query/joins/asof_match.h"
#include "query/joins/indexed_side.h"
#include "query/kernels/keys.h"
#include "query/kernels/ordered_times.h"

namespace tickstack::query {
namespace {

// Left rows of a task, which take some 100 us; their answers stay in the first-level cache.
constexpr size_t kLeftRowsPerTask = 8192;
// Up to this many rows are matched before another thread would be awake.
constexpr size_t kAlone = 16384;

PostingRun PartOf(const PostingRun& run, size_t begin, size_t rows) {
  return {run.rows.subspan(begin, rows), run.coarse.subspan(begin, rows), run.medium};
}

// Runs tasks like ParallelTasks, but on this thread alone if they have few rows together.
template <typename F>
absl::Status EachTask(const Budget& budget, size_t rows, size_t tasks, F f) {
  if (rows > kAlone) return ParallelTasks(budget, tasks, f);
  for (size_t task = 0; task < tasks; ++task) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_RETURN_IF_ERROR(f(task));
  }
  return absl::OkStatus();
}

// ---- One key

// Matches two ascending sides. `left.rows` are positions in `matched`.
void MatchTimed(const TimedRows& left, const TimedRows& right, const MaxAge& max_age,
                std::span<uint32_t> matched) {
  ScratchVector<uint32_t> prevailing(left.times.size());
  TS_CHECK(AsofMatch(left.times, right.times, prevailing).ok());
  for (size_t i = 0; i < prevailing.size(); ++i) {
    const uint32_t at = prevailing[i];
    if (at == kNoRow || !max_age.Admits(left.times[i], right.times[at])) continue;
    matched[left.rows[i]] = right.rows[at];
  }
}

// Does the same with right rows out of an index.
void MatchTimed(const TimedRows& left, const RowSet& right, const MaxAge& max_age,
                std::span<uint32_t> matched) {
  const std::span<const PostingRun> runs = right.runs();
  const std::span<const int64_t> times(left.times);
  ScratchVector<uint32_t> prevailing;
  size_t begin = 0;
  for (size_t r = 0; r < runs.size() && begin < times.size(); ++r) {
    // Left rows before the start of the next run can match only this one.
    size_t end = times.size();
    if (r + 1 < runs.size()) {
      const int64_t next_ns = right.times().ExactNs(runs[r + 1].rows.front());
      end = static_cast<size_t>(std::ranges::lower_bound(times.subspan(begin), next_ns) -
                                times.begin());
    }
    prevailing.resize(end - begin);
    TS_CHECK(AsofMatch(times.subspan(begin, end - begin), runs[r], right.times(), prevailing).ok());
    for (size_t i = begin; i < end; ++i) {
      const uint32_t at = prevailing[i - begin];
      if (at == kNoRow) continue;
      const uint32_t row = runs[r].rows[at];
      if (max_age.limited() && !max_age.Admits(times[i], right.times().ExactNs(row))) continue;
      matched[left.rows[i]] = row;
    }
    begin = end;
  }
}

// Returns how many postings of a run are before the first one of another.
size_t CountBefore(const PostingRun& run, const PostingTimes& times, const PostingRun& other,
                   const PostingTimes& other_times) {
  if (times.SameClock(other_times)) {
    const auto ties = std::ranges::equal_range(run.coarse, other.coarse.front());
    if (ties.empty()) return static_cast<size_t>(ties.begin() - run.coarse.begin());
  }
  return times.CountBefore(run, other_times.ExactNs(other.rows.front()));
}

// Matches both sides out of their indexes, with times that ascend. Calls give(i, row) for the left
// rows that match; i counts the rows of `left`.
template <typename Give>
void MatchPosted(const RowSet& left, const RowSet& right, const MaxAge& max_age, Give give) {
  const std::span<const PostingRun> runs = right.runs();
  ScratchVector<uint32_t> prevailing;
  size_t r = 0, before = 0;  // `before`: left rows of the runs that are done.
  for (const PostingRun& left_run : left.runs()) {
    for (size_t begin = 0; begin < left_run.rows.size();) {
      // Left rows before the start of the next right run can match only this one.
      PostingRun rest = PartOf(left_run, begin, left_run.rows.size() - begin);
      if (r + 1 < runs.size()) {
        const size_t n = CountBefore(rest, left.times(), runs[r + 1], right.times());
        if (n == 0) {
          ++r;
          continue;
        }
        rest = PartOf(rest, 0, n);
      }
      const PostingRun& run = runs[r];
      prevailing.resize(rest.rows.size());
      TS_CHECK(AsofMatch(rest, left.times(), run, right.times(), prevailing).ok());
      for (size_t i = 0; i < prevailing.size(); ++i) {
        const uint32_t at = prevailing[i];
        if (at == kNoRow) continue;
        if (max_age.limited() && !max_age.Admits(rest, i, left.times(), run, at, right.times())) {
          continue;
        }
        give(before + begin + i, run.rows[at]);
      }
      begin += rest.rows.size();
    }
    before += left_run.rows.size();
  }
}

// ---- Both sides by their indexes

// The rows of one symbol, or some of its left rows, with its right rows.
struct BothSides {
  RowSet left, right;

  bool sorted() const { return left.has_sorted_times() && right.has_sorted_times(); }
  size_t rows() const { return left.count() + right.count(); }
};

// Returns sorted rows for an index whose times went down somewhere.
absl::StatusOr<TimedRows> SortedRows(const AnyColumn& time, RowSet rows, const Budget& budget) {
  TimedRows timed;
  timed.rows = rows.ToVector();
  const auto shared = std::make_shared<const RowSet>(std::move(rows));
  TS_ASSIGN_OR_RETURN(timed.times, OrderedTimes(Slice{time, shared}, budget));
  timed.Sort();
  return timed;
}

class IndexJoin {
 public:
  IndexJoin(const IndexedSide& left, const IndexedSide& right, const MaxAge& max_age,
            std::span<uint32_t> matched, Budget& budget)
      : left_(left), right_(right), max_age_(max_age), matched_(matched), budget_(budget) {}

  absl::Status Run() {
    TS_RETURN_IF_ERROR(FindRows());
    TS_RETURN_IF_ERROR(MakeTasks());
    return EachTask(budget_, matched_.size(), tasks_.size(),
                    [&](size_t i) { return RunTask(tasks_[i]); });
  }

 private:
  // Left rows [begin, end) of a symbol, or all of them if its times went down.
  struct Task {
    size_t symbol, begin, end;
    size_t weight;
  };

  RowSet RightRowsOf(SymbolId id) const {
    if (&left_.symbols() == &right_.symbols()) return right_.RowsOf(id);
    return right_.RowsOf(id == kNullSymbol ? std::string_view() : left_.symbols().NameOf(id));
  }
  BothSides RowsOf(SymbolId id) const {
    BothSides found{left_.RowsOf(id), RowSet()};
    if (found.left.count() > 0) found.right = RightRowsOf(id);
    return found;
  }
  absl::Status FindRows();
  absl::Status MakeTasks();
  absl::Status RunTask(const Task& task);

  const IndexedSide& left_;
  const IndexedSide& right_;
  const MaxAge& max_age_;
  const std::span<uint32_t> matched_;
  Budget& budget_;
  ScratchVector<BothSides> symbols_;
  ScratchVector<Task> tasks_;
};

// Finds the rows of symbols that both sides have; others join with nothing.
absl::Status IndexJoin::FindRows() {
  if (const std::optional<SymbolId>& only = left_.only()) {
    symbols_.push_back(RowsOf(*only));
    return absl::OkStatus();
  }
  if (const std::optional<SymbolId>& only = right_.only()) {
    const std::string_view name =
        *only == kNullSymbol ? std::string_view() : right_.symbols().NameOf(*only);
    symbols_.push_back({left_.RowsOf(name), right_.RowsOf(*only)});
    return absl::OkStatus();
  }
  const auto ids = static_cast<size_t>(left_.symbols().size()) + 1;  // Counts from kNullSymbol on.
  TS_RETURN_IF_ERROR(budget_.Charge(ids, sizeof(BothSides)));
  symbols_.resize(ids);
  constexpr size_t kIds = 256;
  const auto find = [&](size_t task) {
    for (size_t i = task * kIds; i < std::min(ids, (task + 1) * kIds); ++i) {
      symbols_[i] = RowsOf(i == 0 ? kNullSymbol : static_cast<SymbolId>(i - 1));
    }
    return absl::OkStatus();
  };
  TS_RETURN_IF_ERROR(EachTask(budget_, matched_.size(), (ids + kIds - 1) / kIds, find));
  size_t runs = 0;
  for (const BothSides& rows : symbols_) runs += rows.left.runs().size() + rows.right.runs().size();
  return budget_.Charge(runs, sizeof(PostingRun));
}

absl::Status IndexJoin::MakeTasks() {
  size_t unsorted = 0;
  for (size_t symbol = 0; symbol < symbols_.size(); ++symbol) {
    const BothSides& rows = symbols_[symbol];
    const size_t n = rows.left.count();
    if (n == 0 || rows.right.count() == 0) continue;
    if (!rows.sorted()) unsorted = std::max(unsorted, rows.rows());
    const size_t step = rows.sorted() ? kLeftRowsPerTask : n;
    for (size_t begin = 0; begin < n; begin += step) {
      const size_t end = std::min(n, begin + step);
      tasks_.push_back({symbol, begin, end, rows.rows() * (end - begin) / n});
    }
  }
  // Large tasks come first: at the end they would run alone.
  std::ranges::sort(tasks_, std::greater(), &Task::weight);
  TS_RETURN_IF_ERROR(budget_.Charge(tasks_.size(), sizeof(Task)));
  return budget_.Charge(unsorted, ParallelThreads(budget_) * TimedRows::kBytesPerRow);
}

absl::Status IndexJoin::RunTask(const Task& task) {
  const BothSides& rows = symbols_[task.symbol];
  const bool whole = !left_.only().has_value();  // A left row's number is then its position.
  if (!rows.sorted()) {
    TS_CHECK(whole || rows.left.has_sorted_times());
    TS_ASSIGN_OR_RETURN(TimedRows left, SortedRows(left_.time(), rows.left, budget_));
    if (!whole) std::iota(left.rows.begin(), left.rows.end(), 0u);
    TS_ASSIGN_OR_RETURN(const TimedRows right, SortedRows(right_.time(), rows.right, budget_));
    MatchTimed(left, right, max_age_, matched_);
    return absl::OkStatus();
  }
  const RowSet left = rows.left.Slice(task.begin, task.end - task.begin);
  if (!whole) {
    MatchPosted(left, rows.right, max_age_,
                [&](size_t i, uint32_t row) { matched_[task.begin + i] = row; });
    return absl::OkStatus();
  }
  const ScratchVector<uint32_t> positions = left.ToVector();
  MatchPosted(left, rows.right, max_age_,
              [&](size_t i, uint32_t row) { matched_[positions[i]] = row; });
  return absl::OkStatus();
}

// ---- The left side by its values

absl::Status MatchByIndex(const AsofColumns& columns, const IndexedSide& right,
                          const TableView& left, const ScratchVector<int64_t>& left_times,
                          const MaxAge& max_age, std::span<uint32_t> matched, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Slice keys, left.ColumnAt(columns.left_keys[0], budget));
  KeyNumbers numbers(1);
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> number,
                      numbers.Number(std::span(&keys, 1), budget));
  TS_RETURN_IF_ERROR(budget.Charge(number.size(), TimedRows::kBytesPerRow + sizeof(uint32_t)));
  const Grouping groups(number, numbers.size());
  ScratchVector<RowSet> right_rows(groups.groups());
  TS_RETURN_IF_ERROR(budget.Charge(groups.groups(), sizeof(RowSet)));
  size_t unsorted = 0;
  for (uint32_t group = 0; group < groups.groups(); ++group) {
    const size_t row = keys.rows->At(groups.PositionsOf(group)[0]);
    TS_ASSIGN_OR_RETURN(const Value name, keys.column.At(row));
    RowSet& rows = right_rows[group] = right.RowsOf(name.symbol());
    if (!rows.has_sorted_times()) unsorted = std::max(unsorted, rows.count());
  }
  TS_RETURN_IF_ERROR(budget.Charge(unsorted, ParallelThreads(budget) * TimedRows::kBytesPerRow));
  return EachTask(budget, matched.size(), groups.groups(), [&](size_t task) -> absl::Status {
    const auto group = static_cast<uint32_t>(task);
    const RowSet& rows = right_rows[group];
    if (rows.count() == 0) return absl::OkStatus();
    const TimedRows timed = TimedRows::Pick(groups.PositionsOf(group), left_times);
    if (rows.has_sorted_times()) {
      MatchTimed(timed, rows, max_age, matched);
      return absl::OkStatus();
    }
    TS_ASSIGN_OR_RETURN(const TimedRows sorted, SortedRows(right.time(), rows, budget));
    MatchTimed(timed, sorted, max_age, matched);
    return absl::OkStatus();
  });
}

absl::StatusOr<ScratchVector<int64_t>> TimesOf(const TableView& view, size_t column,
                                               Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Slice time, view.ColumnAt(column, budget));
  TS_RETURN_IF_ERROR(budget.Charge(time.count(), sizeof(int64_t)));
  return OrderedTimes(time, budget);
}

absl::Status MatchByHash(const AsofColumns& columns, const TableView& left, const TableView& right,
                         const ScratchVector<int64_t>& left_times, const MaxAge& max_age,
                         std::span<uint32_t> matched, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const ScratchVector<int64_t> right_times,
                      TimesOf(right, columns.right_time, budget));
  ScratchVector<uint32_t> left_number(left.count(), 0), right_number(right.count(), 0);
  uint32_t keys = 1;
  if (!columns.left_keys.empty()) {
    KeyNumbers numbers(columns.left_keys.size());
    TS_ASSIGN_OR_RETURN(const std::vector<Slice> left_keys,
                        left.ColumnsAt(columns.left_keys, budget));
    TS_ASSIGN_OR_RETURN(const std::vector<Slice> right_keys,
                        right.ColumnsAt(columns.right_keys, budget));
    TS_ASSIGN_OR_RETURN(left_number, numbers.Number(left_keys, budget));
    TS_ASSIGN_OR_RETURN(right_number, numbers.Number(right_keys, budget));
    keys = numbers.size();
  }
  TS_RETURN_IF_ERROR(
      budget.Charge(left.count() + right.count(), TimedRows::kBytesPerRow + sizeof(uint32_t)));
  const Grouping left_groups(left_number, keys), right_groups(right_number, keys);
  const ScratchVector<uint32_t> right_rows = right.rows->ToVector();
  return EachTask(budget, left.count() + right.count(), keys, [&](size_t task) {
    const auto key = static_cast<uint32_t>(task);
    if (left_groups.PositionsOf(key).empty()) return absl::OkStatus();
    TimedRows candidates = TimedRows::Pick(right_groups.PositionsOf(key), right_times);
    for (uint32_t& row : candidates.rows) row = right_rows[row];
    MatchTimed(TimedRows::Pick(left_groups.PositionsOf(key), left_times), candidates, max_age,
               matched);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status MatchRows(const AsofColumns& columns, const TableView& left, const TableView& right,
                       const MaxAge& max_age, std::span<uint32_t> matched, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckTimeType(left.columns[columns.left_time].type()));
  std::optional<IndexedSide> left_index, right_index;
  if (columns.right_keys.size() == 1) {
    TS_ASSIGN_OR_RETURN(left_index,
                        IndexedSide::Make(left, columns.left_keys[0], columns.left_time, budget));
    TS_ASSIGN_OR_RETURN(
        right_index, IndexedSide::Make(right, columns.right_keys[0], columns.right_time, budget));
    // In ranges of a stored table, positions are not row numbers and symbols are mixed.
    if (left_index.has_value() && !left_index->whole() && !left_index->only().has_value()) {
      left_index.reset();
    }
  }
  if (left_index.has_value() && right_index.has_value()) {
    return IndexJoin(*left_index, *right_index, max_age, matched, budget).Run();
  }
  TS_ASSIGN_OR_RETURN(const ScratchVector<int64_t> left_times,
                      TimesOf(left, columns.left_time, budget));
  if (right_index.has_value()) {
    return MatchByIndex(columns, *right_index, left, left_times, max_age, matched, budget);
  }
  return MatchByHash(columns, left, right, left_times, max_age, matched, budget);
}

}  // namespace tickstack::query
