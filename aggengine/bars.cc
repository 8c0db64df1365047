#include "aggengine/bars.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "aggengine/bar_functions.h"
#include "base/time.h"
#include "wire/upd_encoder.h"

namespace tickstack::aggengine {
namespace {

constexpr size_t kRecordsAhead = 6;  // How many records ahead the memory is fetched.

template <typename T>
void StoreLow(std::span<const uint64_t> words, size_t stride, size_t rows, std::byte* to) {
  for (size_t i = 0; i < rows; ++i) {
    const auto low = static_cast<T>(words[i * stride]);
    std::memcpy(to + i * sizeof(T), &low, sizeof(T));
  }
}

// Appends the low bytes of one word of each row.
void AppendWords(Type type, std::span<const uint64_t> words, size_t stride, size_t rows,
                 ByteBuffer& out) {
  wire::UpdEncoder(out).Column(type, rows);
  std::byte* const to = out.Extend(rows * WidthOf(type));
  switch (WidthOf(type)) {
    case 1:
      return StoreLow<uint8_t>(words, stride, rows, to);
    case 2:
      return StoreLow<uint16_t>(words, stride, rows, to);
    case 4:
      return StoreLow<uint32_t>(words, stride, rows, to);
    default:
      return StoreLow<uint64_t>(words, stride, rows, to);
  }
}

}  // namespace

Bars::Bars(const BarSpec& spec, const Schema& source, TickBatch& batch, mem::Tier* tier)
    : layout_(spec, source, batch),
      width_ns_(spec.width_ns),
      store_(tier, layout_.record_bytes()),
      no_record_memory_(layout_.record_bytes() / sizeof(uint64_t)),
      no_record_(
          layout_.Make(std::as_writable_bytes(std::span(no_record_memory_)).data(), INT64_MAX, 0)) {
  for (size_t i = 0; i < layout_.columns().size(); ++i) {
    if (!layout_.columns()[i].function->over_time) continue;
    time_operands_.push_back(layout_.columns()[i].x);
    time_columns_.push_back(i);
  }
}

int64_t Bars::BeginOf(int64_t time_ns) const {
  const int64_t into = time_ns % width_ns_;
  return time_ns - (into < 0 ? into + width_ns_ : into);
}

BarRecord* Bars::Find(uint32_t slot, int64_t time_ns) const {
  const std::vector<Interval>& intervals = intervals_[slot];
  const auto behind = std::upper_bound(
      intervals.begin(), intervals.end(), time_ns,
      [](int64_t time, const Interval& interval) { return time < interval.begin_ns; });
  if (behind == intervals.begin()) return nullptr;
  const Interval& found = *(behind - 1);
  return time_ns < found.begin_ns + width_ns_ ? found.record : nullptr;
}

BarRecord* Bars::FindOrMake(uint32_t slot, int64_t time_ns) {
  if (BarRecord* const found = Find(slot, time_ns)) return found;
  std::byte* const memory = store_.New();
  if (memory == nullptr) return nullptr;
  const int64_t begin_ns = BeginOf(time_ns);
  BarRecord* const record = layout_.Make(memory, begin_ns, slot);
  std::vector<Interval>& intervals = intervals_[slot];
  const auto behind = std::upper_bound(
      intervals.begin(), intervals.end(), begin_ns,
      [](int64_t time, const Interval& interval) { return time < interval.begin_ns; });
  const bool is_newest = behind == intervals.end();
  intervals.insert(behind, {begin_ns, record});
  if (is_newest) current_[slot] = record;
  return record;
}

void Bars::Touch(BarRecord* record) {
  if (record->is_changed) return;
  record->is_changed = true;
  changed_.push_back(record);
}

void Bars::BeginBatch(size_t symbol_slots) {
  if (current_.size() < symbol_slots) {
    current_.resize(symbol_slots, no_record_);
    intervals_.resize(symbol_slots);
  }
  store_.TryAgain();
}

// ---- rows

void Bars::TakeRun(BarRecord* record, TickBatch& batch, const TickRun& run) {
  const int64_t first_ns = batch.times()[run.begin], last_ns = batch.times()[run.end - 1];
  const bool is_first = first_ns < record->first_ns;
  const bool is_last = last_ns >= record->newest_ns;
  if (is_first) record->first_ns = first_ns;
  if (is_last) record->newest_ns = last_ns;
  record->rows += run.end - run.begin;
  Touch(record);
  for (const BarColumn& column : layout_.columns()) {
    column.function->take_run(column, *record, batch, run, is_first, is_last);
  }
}

void Bars::TakeRuns(std::span<BarRecord* const> records, TickBatch& batch,
                    std::span<const TickRun> runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    records[i]->newest_ns = batch.times()[runs[i].end - 1];
    records[i]->rows += runs[i].end - runs[i].begin;
    Touch(records[i]);
  }
  for (const BarColumn& column : layout_.columns()) {
    column.function->take_runs(column, records, batch, runs);
  }
}

// ---- means over time

void Bars::AddOver(BarRecord* record, const BarColumn& column, double value, int64_t ns,
                   bool take_out) {
  if (record == nullptr || ns == 0 || !InRangeByTime(value)) return;
  ExactIntegral& integral = record->At<OverTimeState>(column.word).integral;
  integral.sum.AddOverTime(value, ns, take_out);
  integral.over_ns += take_out ? -ns : ns;
  Touch(record);
}

void Bars::TakeIntegral(size_t number, BarRecord* record, const ExactIntegral& integral) {
  const BarColumn& column = layout_.columns()[time_columns_[number]];
  record->At<OverTimeState>(column.word).integral.Add(integral);
}

// Corrects the means when the line changed from the row's time to the next step's. Bars in between
// have no row, so nothing is added to them.
void Bars::TakeChange(size_t number, BarRecord* record, int64_t time_ns, double value,
                      const StepHistory::Change& change) {
  if (change.forgotten) return;
  const BarColumn& column = layout_.columns()[time_columns_[number]];
  const uint32_t slot = record->slot;
  const int64_t begin_ns = record->begin_ns;
  const int64_t bar_end_ns = begin_ns + width_ns_;
  const bool has_earlier = change.before && change.before->time_ns >= begin_ns;
  const bool has_later = change.after && change.after->time_ns < bar_end_ns;
  if (change.before && !change.replaced) {
    const auto& [before_ns, held] = *change.before;
    if (!has_earlier && !has_later) {
      // This is the first row of its bar: the earlier value holds from the bar's begin to this row.
      AddOver(record, column, held, time_ns - begin_ns, false);
    } else if (!change.after) {
      AddOver(record, column, held, time_ns - before_ns, false);
    }
    if (!has_earlier && !change.after) {
      // Nothing has recorded yet that the earlier value holds to the end of its own bar.
      const int64_t before_end_ns = BeginOf(before_ns) + width_ns_;
      AddOver(Find(slot, before_ns), column, held, before_end_ns - before_ns, false);
    }
  }
  if (!change.after) return;
  const int64_t end_ns = std::min(change.after->time_ns, bar_end_ns);
  const bool was_counted = change.replaced || has_earlier || (change.before && has_later);
  if (was_counted) AddOver(record, column, *change.old, end_ns - time_ns, true);
  AddOver(record, column, value, end_ns - time_ns, false);
  if (end_ns == change.after->time_ns) return;
  // The next row is in another bar, and this value holds up to it from that bar's begin.
  BarRecord* const next = Find(slot, change.after->time_ns);
  if (next == nullptr) return;
  const int64_t reach_ns = change.after->time_ns - next->begin_ns;
  if (change.old) AddOver(next, column, *change.old, reach_ns, true);
  AddOver(next, column, value, reach_ns, false);
}

// ---- publishing

// Reads into outgoing_ and `records` the rows that differ from what was published of them.
void Bars::ReadChangedRows(size_t rows_max, std::vector<BarRecord*>& records) {
  const size_t stride = layout_.row_words();
  const size_t end_record = records.size() + rows_max;
  outgoing_.clear();
  while (has_changes() && records.size() < end_record) {
    if (next_changed_ + kRecordsAhead < changed_.size()) {
      PrefetchForWriting(changed_[next_changed_ + kRecordsAhead]);
    }
    BarRecord* const record = changed_[next_changed_++];
    record->is_changed = false;
    const size_t at = outgoing_.size();
    outgoing_.resize(at + stride);
    layout_.ReadRow(*record, outgoing_.data() + at);
    const uint64_t hash = layout_.HashOf(std::span(outgoing_).subspan(at));
    if (hash == record->published_hash) {
      outgoing_.resize(at);
      continue;
    }
    record->published_hash = hash;
    records.push_back(record);
  }
  if (next_changed_ >= changed_.size() / 2) {
    changed_.erase(changed_.begin(), changed_.begin() + static_cast<ptrdiff_t>(next_changed_));
    next_changed_ = 0;
  }
}

void Bars::AppendKeys(std::span<BarRecord* const> rows, const SymbolTable& symbols,
                      ByteBuffer& columns) const {
  wire::UpdEncoder x(columns);
  x.Column(Type::kSymbol, rows.size());
  for (BarRecord* const record : rows) {
    const uint32_t slot = record->slot;
    if (slot > 0) columns.Append(symbols.NameOf(static_cast<SymbolId>(slot - 1)));
    columns.AppendLittle(uint8_t{0});
  }
  const Type key = schema().columns[1].type;
  x.Column(key, rows.size());
  for (BarRecord* const record : rows) {
    const int64_t begin_ns = record->begin_ns;
    if (key == Type::kDate) {
      columns.AppendLittle(static_cast<int32_t>(begin_ns / kNsPerDay));
    } else {
      columns.AppendLittle(begin_ns);
    }
  }
}

size_t Bars::TakeChangedRows(size_t rows_max, const SymbolTable& symbols, ByteBuffer& columns,
                             std::vector<BarRecord*>& records) {
  const size_t first_record = records.size();
  ReadChangedRows(rows_max, records);
  const std::span<BarRecord* const> rows = std::span(records).subspan(first_record);
  if (rows.empty()) return 0;
  columns.reserve(columns.size() + rows.size() * 80);
  wire::UpdEncoder(columns).Columns(schema().columns.size());
  AppendKeys(rows, symbols, columns);
  for (size_t i = 0; i < layout_.row_words(); ++i) {
    AppendWords(schema().columns[i + kBarKeyColumns].type, std::span(outgoing_).subspan(i),
                layout_.row_words(), rows.size(), columns);
  }
  return rows.size();
}

void Bars::PublishAgain(std::span<BarRecord* const> records) {
  for (BarRecord* const record : records) {
    record->published_hash = kNothingPublished;
    Touch(record);
  }
}

void Bars::OnLogged(const BatchView& rows, std::span<const SymbolId> symbols) {
  std::vector<uint64_t> row(layout_.row_words());
  for (size_t i = 0; i < rows.rows; ++i) {
    const uint32_t slot = TickBatch::SlotOf(symbols[i]);
    const std::byte* const key = rows.columns[1].data.data();
    const int64_t begin_ns = schema().columns[1].type == Type::kDate
                                 ? LoadLittle<int32_t>(key + i * sizeof(int32_t)) * kNsPerDay
                                 : LoadLittle<int64_t>(key + i * sizeof(int64_t));
    if (slot >= intervals_.size()) continue;
    BarRecord* const record = Find(slot, begin_ns);
    if (record == nullptr) continue;
    for (size_t column = 0; column < row.size(); ++column) {
      const size_t width = WidthOf(schema().columns[column + kBarKeyColumns].type);
      row[column] = 0;
      std::memcpy(&row[column], rows.columns[column + kBarKeyColumns].data.data() + i * width,
                  width);
    }
    record->published_hash = layout_.HashOf(row);
  }
}

void Bars::Clear() {
  store_.Clear();
  current_.clear();
  intervals_.clear();
  changed_.clear();
  next_changed_ = 0;
}

size_t Bars::index_bytes() const {
  size_t bytes = (current_.capacity() + changed_.capacity()) * sizeof(BarRecord*) +
                 intervals_.capacity() * sizeof(std::vector<Interval>);
  for (const std::vector<Interval>& of_symbol : intervals_) {
    bytes += of_symbol.capacity() * sizeof(Interval);
  }
  return bytes;
}

}  // namespace tickstack::aggengine
