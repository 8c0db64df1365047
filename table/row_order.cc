#include "table/row_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tickstack {
namespace {

int FindTime(const Schema& schema) {
  const int time = schema.Find("time");
  if (time < 0) return -1;
  const Type type = schema.columns[static_cast<size_t>(time)].type;
  return type == Type::kTimestamp || type == Type::kTimespan ? time : -1;
}

int FindSym(const Schema& schema) {
  const int sym = schema.Find("sym");
  return sym >= 0 && schema.columns[static_cast<size_t>(sym)].type == Type::kSymbol ? sym : -1;
}

size_t RowCount(std::span<const std::span<const uint32_t>> runs) {
  size_t rows = 0;
  for (const auto& run : runs) rows += run.size();
  return rows;
}

struct TimeOfRow {
  int64_t time_ns;
  uint32_t row;
  friend auto operator<=>(const TimeOfRow&, const TimeOfRow&) = default;
};

// The rows of `runs`, which ascend, by time; false if they were by time already, then `out` is as
// it was. Rows are part of what is compared, so equal times stay as they were.
bool SortByTime(const ColumnElements<int64_t>& times,
                std::span<const std::span<const uint32_t>> runs, std::vector<uint32_t>& out) {
  constexpr size_t kPart = 1024;
  std::vector<int64_t> part(kPart);
  std::vector<TimeOfRow> keyed;
  keyed.reserve(RowCount(runs));
  bool ascends = true;
  for (std::span<const uint32_t> run : runs) {
    while (!run.empty()) {
      const std::span<const uint32_t> rows = run.first(std::min(kPart, run.size()));
      times.Gather(rows, part.data());
      for (size_t i = 0; i < rows.size(); ++i) {
        ascends &= keyed.empty() || keyed.back().time_ns <= part[i];
        keyed.push_back({part[i], rows[i]});
      }
      run = run.subspan(rows.size());
    }
  }
  if (ascends) return false;
  std::sort(keyed.begin(), keyed.end());
  out.clear();
  out.reserve(keyed.size());
  for (const TimeOfRow& each : keyed) out.push_back(each.row);
  return true;
}

}  // namespace

RowOrder::RowOrder(const Snapshot& snapshot, const RowsOfDate& of_date)
    : snapshot_(snapshot),
      of_date_(of_date),
      sym_(FindSym(snapshot.schema())),
      time_(FindTime(snapshot.schema())) {
  if (time_ >= 0) times_.emplace(snapshot, static_cast<size_t>(time_));
  if (sym_ >= 0) {
    BySymbol();
  } else {
    ByTime();
  }
}

std::vector<uint32_t>& RowOrder::Own(size_t rows) {
  own_.emplace_back();
  own_.back().reserve(rows);
  return own_.back();
}

void RowOrder::ByTime() {
  in_place_ = !of_date_.leaves_out();
  times_ascend_ = time_ >= 0;
  int64_t last = INT64_MIN;
  for (size_t chunk = 0; time_ >= 0 && chunk < snapshot_.chunks(); ++chunk) {
    for (const int64_t time : snapshot_.Chunk<int64_t>(static_cast<size_t>(time_), chunk)) {
      times_ascend_ &= last <= time;
      last = time;
    }
  }
  if (in_place_ && (time_ < 0 || times_ascend_)) return;
  std::vector<uint32_t>& rows = Own(snapshot_.rows());
  for (size_t row = 0; row < snapshot_.rows(); ++row) rows.push_back(static_cast<uint32_t>(row));
  AddGroup(kNullSymbol, {rows}, times_ascend_);
  groups_.clear();  // It is not one of a symbol.
  in_place_ = false;
  times_ascend_ = time_ >= 0;
}

// Without what the partition leaves out.
void RowOrder::LeaveOut(Runs& runs) {
  std::vector<uint32_t> left;
  for (const std::span<const uint32_t> run : runs) {
    std::ranges::copy_if(run, std::back_inserter(left),
                         [this](uint32_t row) { return of_date_.Has(row); });
  }
  own_.push_back(std::move(left));
  runs = {own_.back()};
}

// Behind those that are there.
void RowOrder::AddGroup(SymbolId symbol, Runs runs, bool known_ascending) {
  if (of_date_.leaves_out()) LeaveOut(runs);
  const size_t rows = RowCount(runs);
  if (rows == 0) return;
  groups_.push_back({symbol, grouped_rows_, runs_.size(), true});
  grouped_rows_ += rows;
  if (time_ >= 0 && !known_ascending) {
    std::vector<uint32_t> sorted;
    if (SortByTime(*times_, runs, sorted)) {
      own_.push_back(std::move(sorted));
      runs = {own_.back()};
      groups_.back().in_arrival = false;
    }
  }
  runs_.insert(runs_.end(), runs.begin(), runs.end());
}

void RowOrder::BySymbol() {
  const SymbolTable& symbols = snapshot_.table().symbols();
  if (!snapshot_.EndsOf(kNullSymbol)) return BySymbolWithoutIndex();
  std::vector<SymbolId> present;
  const SymbolId count = symbols.size();
  for (SymbolId id = 0; id < count; ++id) {
    if (snapshot_.EndsOf(id)->rows > 0) present.push_back(id);
  }
  std::sort(present.begin(), present.end(),
            [&](SymbolId a, SymbolId b) { return symbols.NameOf(a) < symbols.NameOf(b); });
  if (snapshot_.EndsOf(kNullSymbol)->rows > 0) present.insert(present.begin(), kNullSymbol);
  for (const SymbolId id : present) {
    const Postings postings = *snapshot_.RowsOf(id);
    Runs runs;
    for (const PostingRun& run : postings.runs) runs.push_back(run.rows);
    AddGroup(id, std::move(runs), postings.times.has_value() && postings.time_sorted);
  }
}

// A counting sort: which rows a symbol has is what the index would have said.
void RowOrder::BySymbolWithoutIndex() {
  const SymbolTable& symbols = snapshot_.table().symbols();
  const auto slot_of = [](SymbolId id) {
    return id == kNullSymbol ? size_t{0} : static_cast<size_t>(id) + 1;
  };
  std::vector<size_t> ends(static_cast<size_t>(symbols.size()) + 1, 0);
  const auto each_row = [&](auto visit) {
    uint32_t row = 0;
    for (size_t chunk = 0; chunk < snapshot_.chunks(); ++chunk) {
      for (const SymbolId id : snapshot_.Chunk<SymbolId>(static_cast<size_t>(sym_), chunk)) {
        visit(slot_of(id), row++);
      }
    }
  };
  each_row([&](size_t slot, uint32_t) { ++ends[slot]; });
  std::vector<SymbolId> present;
  for (size_t slot = 0; slot < ends.size(); ++slot) {
    if (ends[slot] > 0)
      present.push_back(slot == 0 ? kNullSymbol : static_cast<SymbolId>(slot - 1));
  }
  std::sort(present.begin(), present.end(), [&](SymbolId a, SymbolId b) {
    return symbols.NameOf(a) < symbols.NameOf(b);  // The null symbol's is empty.
  });
  size_t begin_row = 0;
  struct Part {
    SymbolId symbol;
    size_t begin_row;
  };
  std::vector<Part> groups;
  for (const SymbolId id : present) {
    groups.push_back({id, begin_row});
    begin_row += std::exchange(ends[slot_of(id)], begin_row);
  }
  std::vector<uint32_t>& rows = Own(snapshot_.rows());
  rows.resize(snapshot_.rows());
  each_row([&](size_t slot, uint32_t row) { rows[ends[slot]++] = row; });
  for (size_t i = 0; i < groups.size(); ++i) {
    const size_t end_row = i + 1 < groups.size() ? groups[i + 1].begin_row : rows.size();
    AddGroup(groups[i].symbol,
             {std::span(rows).subspan(groups[i].begin_row, end_row - groups[i].begin_row)}, false);
  }
}

}  // namespace tickstack
