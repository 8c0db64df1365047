#include "aggengine/bars.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "aggengine/exact_sum.h"
#include "base/time.h"

namespace tickstack::aggengine {
namespace {

constexpr uint8_t kIsFirst = 1, kIsLast = 2;  // Of row_flags_.
constexpr uint64_t kChangedFlag = uint64_t{1} << 32;
constexpr size_t kKeyColumns = 2;
constexpr uint64_t kNothingPublished = 0;

// So many words has an aggregate.
uint32_t WordsOf(Function function, bool floating) {
  switch (function) {
    case Function::kCount:
      return 0;  // The record counts its rows anyway.
    case Function::kSum:
      return floating ? kExactWords : 1;
    case Function::kAvg:
      return kExactWords + 1;
    case Function::kWavg:
      return 2 * kExactWords;
    case Function::kTwavg:
      return kExactWords + 2;
    default:
      return 1;
  }
}

bool IsNull(int64_t value) { return value == kNullLong; }
bool IsNull(double value) { return std::isnan(value); }

uint64_t FloatBits(double value) {
  return std::isnan(value) ? kNullFloatBits : std::bit_cast<uint64_t>(value);
}

// A widened integer as one of `type`, in the low bytes.
uint64_t Narrow(int64_t value, Type type) {
  if (IsNull(value)) {
    if (WidthOf(type) == sizeof(int16_t)) return static_cast<uint16_t>(kNullShort);
    if (WidthOf(type) == sizeof(int32_t)) return static_cast<uint32_t>(kNullInt);
  }
  return static_cast<uint64_t>(value);
}

uint64_t NarrowFloat(double value, Type type) {
  if (type != Type::kReal) return FloatBits(value);
  return std::isnan(value) ? kNullRealBits : std::bit_cast<uint32_t>(static_cast<float>(value));
}

uint64_t Mix(uint64_t hash, uint64_t word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Of a row on the wire, its name with eleven characters: more than most have.
size_t RowBytes(const Schema& schema) {
  constexpr size_t kNameBytes = 12;
  size_t bytes = 0;
  for (const ColumnSpec& column : schema.columns) {
    bytes += column.type == Type::kSymbol ? kNameBytes : WidthOf(column.type);
  }
  return bytes;
}

void AppendVectorHeader(Type type, size_t count, ByteBuffer& out) {
  out.AppendLittle(static_cast<int8_t>(type));
  out.AppendLittle(uint8_t{0});
  out.AppendLittle(static_cast<int32_t>(count));
}

// The low bytes of a word of each row.
void AppendWords(Type type, std::span<const uint64_t> words, size_t stride, size_t rows,
                 ByteBuffer& out) {
  const size_t width = WidthOf(type);
  AppendVectorHeader(type, rows, out);
  const size_t begin = out.size();
  out.Extend(rows * width);
  for (size_t i = 0; i < rows; ++i) {
    std::memcpy(out.data() + begin + i * width, &words[i * stride], width);
  }
}

}  // namespace

Bars::Bars(const BarSpec& spec, const Schema& source, TickBatch& batch, mem::Tier* tier)
    : spec_(spec),
      schema_(*SchemaOf(spec, source)),
      store_(tier, Plan(batch)),
      nowhere_(store_.words()) {}

// Lays out a record; returns its words.
uint32_t Bars::Plan(TickBatch& batch) {
  uint32_t words = kAggregates;
  for (size_t i = 0; i < spec_.aggregates.size(); ++i) {
    const Aggregate& aggregate = spec_.aggregates[i];
    Column column{aggregate.function, schema_.columns[i + kKeyColumns + 1].type, false, words};
    if (aggregate.function != Function::kCount) {
      column.x = batch.AddOperand(aggregate.x);
      column.floating = batch.is_floating(column.x);
    }
    if (aggregate.function == Function::kWavg) column.weight = batch.AddOperand(aggregate.weight);
    if (aggregate.function == Function::kTwavg) {
      time_operands_.push_back(column.x);
      time_columns_.push_back(i);
    }
    words += WordsOf(column.function, column.floating);
    columns_.push_back(column);
  }
  return words;
}

int64_t Bars::BeginOf(int64_t time_ns) const {
  const int64_t into = time_ns % spec_.width_ns;
  return time_ns - (into < 0 ? into + spec_.width_ns : into);
}

void Bars::Reset(BarRecord record, int64_t begin_ns, uint32_t slot) const {
  std::fill_n(record, nowhere_.size(), 0);
  record[kBegin] = static_cast<uint64_t>(begin_ns);
  record[kSlot] = slot;
  record[kPublished] = kNothingPublished;
  record[kNewest] = static_cast<uint64_t>(INT64_MIN);
  record[kFirst] = static_cast<uint64_t>(INT64_MAX);
  for (const Column& column : columns_) {
    const bool extreme = column.function == Function::kMin || column.function == Function::kMax;
    if (extreme)
      record[column.word] = column.floating ? kNullFloatBits : static_cast<uint64_t>(kNullLong);
  }
}

BarRecord Bars::Find(uint32_t slot, int64_t time_ns) const {
  const std::vector<Interval>& intervals = intervals_[slot];
  const auto behind = std::upper_bound(
      intervals.begin(), intervals.end(), time_ns,
      [](int64_t time, const Interval& interval) { return time < interval.begin_ns; });
  if (behind == intervals.begin()) return nullptr;
  const Interval& found = *(behind - 1);
  return time_ns < found.begin_ns + spec_.width_ns ? found.record : nullptr;
}

// The record of the symbol's interval that has this time; nullptr: the tier is full.
BarRecord Bars::FindOrMake(uint32_t slot, int64_t time_ns) {
  if (BarRecord const found = Find(slot, time_ns)) return found;
  BarRecord const record = store_.New();
  if (record == nullptr) return nullptr;
  const int64_t begin_ns = BeginOf(time_ns);
  Reset(record, begin_ns, slot);
  std::vector<Interval>& intervals = intervals_[slot];
  const auto behind = std::upper_bound(
      intervals.begin(), intervals.end(), begin_ns,
      [](int64_t time, const Interval& interval) { return time < interval.begin_ns; });
  const bool is_newest = behind == intervals.end();
  intervals.insert(behind, {begin_ns, record});
  if (is_newest) current_[slot] = {begin_ns, begin_ns + spec_.width_ns, record};
  return record;
}

void Bars::Touch(BarRecord record) {
  if ((record[kSlot] & kChangedFlag) != 0) return;
  record[kSlot] |= kChangedFlag;
  changed_.push_back(record);
}

size_t Bars::Take(TickBatch& batch) {
  if (current_.size() < batch.symbol_slots()) {
    current_.resize(batch.symbol_slots());
    intervals_.resize(batch.symbol_slots());
  }
  const size_t rows = batch.rows();
  row_records_.resize(rows);
  row_flags_.resize(rows);
  Reset(nowhere_.data(), 0, 0);
  store_.TryAgain();
  size_t refused = 0;
  const std::span<const uint32_t> slots = batch.symbols();
  const std::span<const int64_t> times = batch.times();
  for (size_t i = 0; i < rows; ++i) {
    const int64_t time_ns = times[i];
    const Current& current = current_[slots[i]];
    BarRecord record = current.record;
    if (time_ns < current.begin_ns || time_ns >= current.end_ns) [[unlikely]] {
      record = time_ns == TickBatch::kNoTime ? nowhere_.data() : FindOrMake(slots[i], time_ns);
      if (record == nullptr) {
        record = nowhere_.data();
        ++refused;
      }
    }
    row_records_[i] = record;
    uint8_t flags = 0;
    if (time_ns < static_cast<int64_t>(record[kFirst])) {
      record[kFirst] = static_cast<uint64_t>(time_ns);
      flags |= kIsFirst;
    }
    if (time_ns >= static_cast<int64_t>(record[kNewest])) {
      record[kNewest] = static_cast<uint64_t>(time_ns);
      flags |= kIsLast;
    }
    row_flags_[i] = flags;
    ++record[kRows];
    if (record != nowhere_.data()) Touch(record);
  }
  for (const Column& column : columns_) TakeColumn(column, batch);
  return refused;
}

template <typename T>
void Bars::TakeValues(const Column& column, std::span<const T> values) {
  const size_t rows = values.size();
  const auto store = [&](size_t i) {
    row_records_[i][column.word] = std::bit_cast<uint64_t>(values[i]);
  };
  const auto kept = [&](size_t i) { return std::bit_cast<T>(row_records_[i][column.word]); };
  switch (column.function) {
    case Function::kFirst:
      for (size_t i = 0; i < rows; ++i) {
        if ((row_flags_[i] & kIsFirst) != 0) store(i);
      }
      return;
    case Function::kLast:
      for (size_t i = 0; i < rows; ++i) {
        if ((row_flags_[i] & kIsLast) != 0) store(i);
      }
      return;
    case Function::kMin:
      for (size_t i = 0; i < rows; ++i) {
        if (!IsNull(values[i]) && (values[i] < kept(i) || IsNull(kept(i)))) store(i);
      }
      return;
    default:  // kMax.
      for (size_t i = 0; i < rows; ++i) {
        if (!IsNull(values[i]) && (values[i] > kept(i) || IsNull(kept(i)))) store(i);
      }
  }
}

void Bars::TakeColumn(const Column& column, TickBatch& batch) {
  const size_t rows = batch.rows();
  switch (column.function) {
    case Function::kCount:
      return;
    case Function::kSum:
      if (!column.floating) {
        const std::span<const int64_t> values = batch.longs(column.x);
        for (size_t i = 0; i < rows; ++i) {
          if (!IsNull(values[i])) row_records_[i][column.word] += static_cast<uint64_t>(values[i]);
        }
        return;
      }
      [[fallthrough]];
    case Function::kAvg: {
      const std::span<const double> values = batch.AsFloats(column.x);
      const bool counts = column.function == Function::kAvg;
      for (size_t i = 0; i < rows; ++i) {
        if (!InRange(values[i])) continue;
        uint64_t* const words = row_records_[i] + column.word;
        AddExact(values[i], words);
        if (counts) ++words[kExactWords];
      }
      return;
    }
    case Function::kWavg: {
      const std::span<const double> values = batch.AsFloats(column.x);
      const std::span<const double> weights = batch.AsFloats(column.weight);
      for (size_t i = 0; i < rows; ++i) {
        if (!InRange(values[i]) || !InRange(weights[i]) || !InRange(values[i] * weights[i]))
          continue;
        uint64_t* const words = row_records_[i] + column.word;
        AddExactProduct(values[i], weights[i], words);
        AddExact(weights[i], words + kExactWords);
      }
      return;
    }
    case Function::kTwavg: {
      const std::span<const double> values = batch.AsFloats(column.x);
      for (size_t i = 0; i < rows; ++i) {
        if ((row_flags_[i] & kIsLast) == 0) continue;
        row_records_[i][column.word + kExactWords + 1] = std::bit_cast<uint64_t>(values[i]);
      }
      return;
    }
    default:
      return column.floating ? TakeValues(column, batch.floats(column.x))
                             : TakeValues(column, batch.longs(column.x));
  }
}

void Bars::AddOver(BarRecord record, const Column& column, double value, int64_t ns,
                   bool take_out) {
  if (record == nullptr || ns == 0 || !InRangeByTime(value)) return;
  AddExactOverTime(value, ns, take_out, record + column.word);
  record[column.word + kExactWords] += static_cast<uint64_t>(take_out ? -ns : ns);
  Touch(record);
}

// The line changed from the row's time to the next step's. What lies between in other bars, that
// have no row, is nobody's.
void Bars::TakeChange(size_t number, size_t row, int64_t time_ns, double value,
                      const StepHistory::Change& change) {
  BarRecord const record = row_records_[row];
  if (change.forgotten || record == nowhere_.data()) return;
  const Column& column = columns_[time_columns_[number]];
  const auto slot = static_cast<uint32_t>(record[kSlot]);
  const auto begin_ns = static_cast<int64_t>(record[kBegin]);
  const int64_t bar_end_ns = begin_ns + spec_.width_ns;
  const bool has_earlier = change.before && change.before->time_ns >= begin_ns;
  const bool has_later = change.after && change.after->time_ns < bar_end_ns;
  if (change.before && !change.replaced) {
    const auto& [before_ns, held] = *change.before;
    if (!has_earlier && !has_later) {
      // The first row of this bar: what held until then does so from the bar's begin on.
      AddOver(record, column, held, time_ns - begin_ns, false);
    } else if (!change.after) {
      AddOver(record, column, held, time_ns - before_ns, false);
    }
    if (!has_earlier && !change.after) {
      // Nor did anybody know yet that it holds to the end of its own bar.
      const int64_t before_end_ns = BeginOf(before_ns) + spec_.width_ns;
      AddOver(Find(slot, before_ns), column, held, before_end_ns - before_ns, false);
    }
  }
  if (!change.after) return;
  const int64_t end_ns = std::min(change.after->time_ns, bar_end_ns);
  const bool was_counted = change.replaced || has_earlier || (change.before && has_later);
  if (was_counted) AddOver(record, column, *change.old, end_ns - time_ns, true);
  AddOver(record, column, value, end_ns - time_ns, false);
  if (end_ns == change.after->time_ns) return;
  // The next row is in another bar, whose begin this value reaches.
  BarRecord const next = Find(slot, change.after->time_ns);
  if (next == nullptr) return;
  const int64_t reach_ns = change.after->time_ns - static_cast<int64_t>(next[kBegin]);
  if (change.old) AddOver(next, column, *change.old, reach_ns, true);
  AddOver(next, column, value, reach_ns, false);
}

uint64_t Bars::Result(const Column& column, const uint64_t* record) const {
  const uint64_t* const words = record + column.word;
  switch (column.function) {
    case Function::kCount:
      return record[kRows];
    case Function::kSum:
      return column.floating ? FloatBits(ReadExact(words)) : words[0];
    case Function::kAvg:
      return FloatBits(ReadExact(words) / static_cast<double>(words[kExactWords]));
    case Function::kWavg:
      return FloatBits(ReadExact(words) / ReadExact(words + kExactWords));
    case Function::kTwavg:
      if (words[kExactWords] == 0) return FloatBits(std::bit_cast<double>(words[kExactWords + 1]));
      return FloatBits(ReadExact(words) / static_cast<double>(words[kExactWords]));
    default:
      return column.floating ? NarrowFloat(std::bit_cast<double>(words[0]), column.type)
                             : Narrow(static_cast<int64_t>(words[0]), column.type);
  }
}

void Bars::ReadRow(const uint64_t* record, uint64_t* row) const {
  *row++ = record[kNewest];
  for (const Column& column : columns_) *row++ = Result(column, record);
}

// Of the published bytes: what is above a column's width does not count.
uint64_t Bars::HashOf(std::span<const uint64_t> row) const {
  uint64_t hash = 0x243f6a8885a308d3;
  for (size_t i = 0; i < row.size(); ++i) {
    const size_t bits = 8 * WidthOf(schema_.columns[i + kKeyColumns].type);
    hash = Mix(hash, bits < 64 ? row[i] & ((uint64_t{1} << bits) - 1) : row[i]);
  }
  return hash == kNothingPublished ? 1 : hash;
}

size_t Bars::TakeChangedRows(size_t rows_max, const SymbolTable& symbols, ByteBuffer& columns,
                             std::vector<BarRecord>& records) {
  const size_t stride = schema_.columns.size() - kKeyColumns;
  const size_t first_record = records.size();
  outgoing_.clear();
  while (has_changes() && records.size() - first_record < rows_max) {
    BarRecord const record = changed_[next_changed_++];
    record[kSlot] &= ~kChangedFlag;
    const size_t at = outgoing_.size();
    outgoing_.resize(at + stride);
    ReadRow(record, outgoing_.data() + at);
    const uint64_t hash = HashOf(std::span(outgoing_).subspan(at));
    if (hash == record[kPublished]) {
      outgoing_.resize(at);
      continue;
    }
    record[kPublished] = hash;
    records.push_back(record);
  }
  if (next_changed_ >= changed_.size() / 2) {
    changed_.erase(changed_.begin(), changed_.begin() + static_cast<ptrdiff_t>(next_changed_));
    next_changed_ = 0;
  }
  const std::span<const BarRecord> rows = std::span(records).subspan(first_record);
  if (rows.empty()) return 0;
  // A message that grows is moved from block to block, each of fresh memory; one of about the size
  // of the last finds that one's (base/block_cache.h).
  columns.reserve(columns.size() + RowBytes(schema_) * rows.size());
  columns.AppendLittle(static_cast<int8_t>(Type::kList));
  columns.AppendLittle(uint8_t{0});
  columns.AppendLittle(static_cast<int32_t>(schema_.columns.size()));
  AppendVectorHeader(Type::kSymbol, rows.size(), columns);
  for (BarRecord const record : rows) {
    const auto slot = static_cast<uint32_t>(record[kSlot]);
    if (slot > 0) columns.Append(symbols.NameOf(static_cast<SymbolId>(slot - 1)));
    columns.AppendLittle(uint8_t{0});
  }
  const Type key = schema_.columns[1].type;
  AppendVectorHeader(key, rows.size(), columns);
  for (BarRecord const record : rows) {
    const auto begin_ns = static_cast<int64_t>(record[kBegin]);
    if (key == Type::kDate) {
      columns.AppendLittle(static_cast<int32_t>(begin_ns / kNsPerDay));
    } else {
      columns.AppendLittle(begin_ns);
    }
  }
  for (size_t i = 0; i < stride; ++i) {
    AppendWords(schema_.columns[i + kKeyColumns].type, std::span(outgoing_).subspan(i), stride,
                rows.size(), columns);
  }
  return rows.size();
}

void Bars::PublishAgain(std::span<const BarRecord> records) {
  for (BarRecord const record : records) {
    record[kPublished] = kNothingPublished;
    Touch(record);
  }
}

void Bars::OnLogged(const BatchView& rows, std::span<const SymbolId> symbols) {
  const size_t stride = schema_.columns.size() - kKeyColumns;
  std::vector<uint64_t> row(stride);
  for (size_t i = 0; i < rows.rows; ++i) {
    const uint32_t slot = TickBatch::SlotOf(symbols[i]);
    const std::byte* const key = rows.columns[1].data.data();
    const int64_t begin_ns = schema_.columns[1].type == Type::kDate
                                 ? LoadLittle<int32_t>(key + i * sizeof(int32_t)) * kNsPerDay
                                 : LoadLittle<int64_t>(key + i * sizeof(int64_t));
    if (slot >= intervals_.size()) continue;
    BarRecord const record = Find(slot, begin_ns);
    if (record == nullptr) continue;
    for (size_t column = 0; column < stride; ++column) {
      const size_t width = WidthOf(schema_.columns[column + kKeyColumns].type);
      row[column] = 0;
      std::memcpy(&row[column], rows.columns[column + kKeyColumns].data.data() + i * width, width);
    }
    record[kPublished] = HashOf(row);
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
  size_t bytes = current_.capacity() * sizeof(Current) + changed_.capacity() * sizeof(BarRecord) +
                 intervals_.capacity() * sizeof(std::vector<Interval>);
  for (const std::vector<Interval>& of_symbol : intervals_) {
    bytes += of_symbol.capacity() * sizeof(Interval);
  }
  return bytes;
}

}  // namespace tickstack::aggengine
