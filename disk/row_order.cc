#include "disk/row_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mem/medium.h"

namespace tickstack::disk {
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

// Returns the rows of `runs`, which ascend, in order of time; nullopt if they already are. Row
// numbers take part in the comparison, so equal times keep their order. Most rows are in order
// except for a few late ones: those are sorted and merged with the rest, so the cost is that of
// reading each.
std::optional<std::vector<uint32_t>> SortByTime(const ColumnElements<int64_t>& times,
                                                std::span<const std::span<const uint32_t>> runs) {
  constexpr size_t kPart = 1024;
  std::vector<int64_t> part(kPart);
  std::vector<TimeOfRow> in_order, late;
  in_order.reserve(RowCount(runs));
  for (std::span<const uint32_t> run : runs) {
    while (!run.empty()) {
      const std::span<const uint32_t> rows = run.first(std::min(kPart, run.size()));
      times.Gather(rows, part.data());
      for (size_t i = 0; i < rows.size(); ++i) {
        const bool is_late = !in_order.empty() && part[i] < in_order.back().time_ns;
        (is_late ? late : in_order).push_back({part[i], rows[i]});
      }
      run = run.subspan(rows.size());
    }
  }
  if (late.empty()) return std::nullopt;
  std::sort(late.begin(), late.end());
  std::vector<uint32_t> sorted;
  sorted.reserve(in_order.size() + late.size());
  auto next = late.begin();
  for (const TimeOfRow& each : in_order) {
    for (; next != late.end() && *next < each; ++next) sorted.push_back(next->row);
    sorted.push_back(each.row);
  }
  for (; next != late.end(); ++next) sorted.push_back(next->row);
  return sorted;
}

}  // namespace

RowOrder::RowOrder(const Snapshot& snapshot, const RowsOfDate& of_date, WorkerPool* workers)
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
  if (!in_place_) PutInOrder(workers);
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
    mem::MediumAccess access(snapshot_.MediumOf(static_cast<size_t>(time_)));
    const std::span<const int64_t> times =
        snapshot_.Chunk<int64_t>(static_cast<size_t>(time_), chunk);
    for (const int64_t time : times) {
      times_ascend_ &= last <= time;
      last = time;
    }
    access.ReadInOrder(times.data(), times.size_bytes());
  }
  if (in_place_ && (time_ < 0 || times_ascend_)) return;
  std::vector<uint32_t>& rows = Own(snapshot_.rows());
  for (size_t row = 0; row < snapshot_.rows(); ++row) rows.push_back(static_cast<uint32_t>(row));
  drafts_.push_back({kNullSymbol, {rows}, times_ascend_, std::nullopt});
  in_place_ = false;
  times_ascend_ = time_ >= 0;
}

// Removes the rows of a group that the partition leaves out, and sorts the rest if necessary.
void RowOrder::PutInOrder(Draft& draft) const {
  if (of_date_.leaves_out()) {
    draft.own.emplace();
    for (const std::span<const uint32_t> run : draft.runs) {
      std::ranges::copy_if(run, std::back_inserter(*draft.own),
                           [this](uint32_t row) { return of_date_.Has(row); });
    }
    draft.runs = {*draft.own};
  }
  if (time_ < 0 || draft.in_order) return;
  std::optional<std::vector<uint32_t>> sorted = SortByTime(*times_, draft.runs);
  draft.in_order = !sorted.has_value();
  if (sorted) {
    draft.own = *std::move(sorted);
    draft.runs = {*draft.own};
  }
}

void RowOrder::PutInOrder(WorkerPool* workers) {
  constexpr size_t kTaskGroups = 16;  // Most symbols have few rows.
  const auto task = [this](size_t i) {
    const size_t end = std::min((i + 1) * kTaskGroups, drafts_.size());
    for (size_t at = i * kTaskGroups; at < end; ++at) PutInOrder(drafts_[at]);
    return absl::OkStatus();
  };
  const size_t tasks = (drafts_.size() + kTaskGroups - 1) / kTaskGroups;
  if (workers == nullptr) {
    for (size_t i = 0; i < tasks; ++i) task(i).IgnoreError();
  } else {
    workers->ParallelFor(tasks, task).IgnoreError();  // No task returns an error.
  }
  size_t begin_row = 0;
  for (Draft& draft : drafts_) {
    const size_t rows = RowCount(draft.runs);
    if (rows == 0) continue;
    // In order of time alone, there are no symbols.
    if (sym_ >= 0) {
      groups_.push_back({draft.symbol, begin_row, runs_.size(), time_ < 0 || draft.in_order});
    }
    begin_row += rows;
    runs_.insert(runs_.end(), draft.runs.begin(), draft.runs.end());
    if (draft.own) own_.push_back(*std::move(draft.own));
  }
  drafts_ = {};
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
    drafts_.push_back(
        {id, std::move(runs), postings.times.has_value() && postings.time_sorted, std::nullopt});
  }
}

// Finds each symbol's rows by a counting sort if there is no index.
void RowOrder::BySymbolWithoutIndex() {
  const SymbolTable& symbols = snapshot_.table().symbols();
  const auto slot_of = [](SymbolId id) {
    return id == kNullSymbol ? size_t{0} : static_cast<size_t>(id) + 1;
  };
  std::vector<size_t> ends(static_cast<size_t>(symbols.size()) + 1, 0);
  const auto each_row = [&](auto visit) {
    uint32_t row = 0;
    for (size_t chunk = 0; chunk < snapshot_.chunks(); ++chunk) {
      mem::MediumAccess access(snapshot_.MediumOf(static_cast<size_t>(sym_)));
      const std::span<const SymbolId> ids =
          snapshot_.Chunk<SymbolId>(static_cast<size_t>(sym_), chunk);
      for (const SymbolId id : ids) visit(slot_of(id), row++);
      access.ReadInOrder(ids.data(), ids.size_bytes());
    }
  };
  each_row([&](size_t slot, uint32_t) { ++ends[slot]; });
  std::vector<SymbolId> present;
  for (size_t slot = 0; slot < ends.size(); ++slot) {
    if (ends[slot] > 0)
      present.push_back(slot == 0 ? kNullSymbol : static_cast<SymbolId>(slot - 1));
  }
  std::sort(present.begin(), present.end(), [&](SymbolId a, SymbolId b) {
    return symbols.NameOf(a) < symbols.NameOf(b);  // The null symbol has an empty name.
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
    drafts_.push_back(
        {groups[i].symbol,
         {std::span(rows).subspan(groups[i].begin_row, end_row - groups[i].begin_row)},
         false,
         std::nullopt});
  }
}

}  // namespace tickstack::disk
