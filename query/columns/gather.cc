#include "query/columns/gather.h"

#include <algorithm>
#include <cstring>

#include "query/columns/elements.h"
#include "query/columns/name_copy.h"
#include "query/columns/parallel.h"

namespace tickstack::query {
namespace {

// Items of a task, which take 100 us or more if they are scattered.
constexpr size_t kStep = 16384;
constexpr size_t kNumbersPerTask = size_t{1} << 17;
// How far ahead an item is fetched: as many misses as a core keeps in flight.
constexpr size_t kAhead = 16;

// Returns the number of a symbol, or that of the null symbol where there is none.
size_t NumberOf(SymbolId id, size_t known) {
  return std::min(static_cast<size_t>(static_cast<uint32_t>(id)), known);
}

// Copies so few symbols that a table of the names would cost more than the items.
absl::StatusOr<Value> MaterialiseFewSymbols(const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(size_t) + 8));
  const SymbolTable& symbols = slice.column.symbols();
  SymbolVector names;
  names.reserve(slice.count(), slice.count() * 8);
  // Remembers the last symbol, because scattered rows are often of one symbol.
  SymbolId last = kNullSymbol;
  std::string_view name;
  TS_RETURN_IF_ERROR(ForEachBlock<SymbolId>(slice, budget, [&](const Block<SymbolId>& block) {
    for (SymbolId id : block.elements) {
      if (id != last) {
        last = id;
        name = symbols.NameOf(id);
      }
      names.AppendName(name);
    }
  }));
  return Value::Symbols(std::move(names));
}

absl::StatusOr<Value> MaterialiseCapturedSymbols(const Slice& slice, Budget& budget) {
  const SymbolTable& symbols = slice.column.symbols();
  const auto known = static_cast<size_t>(symbols.size());
  if (slice.count() < 2 * known) return MaterialiseFewSymbols(slice, budget);
  TS_RETURN_IF_ERROR(budget.Charge(known + 1, NumberedNames::kBytes));
  NumberedNames names;
  names.reserve(known + 1);
  for (size_t id = 0; id < known; ++id) names.Add(symbols.NameOf(static_cast<SymbolId>(id)));
  names.Add("");
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(uint32_t)));
  ScratchVector<uint32_t> numbers(slice.count());
  TS_RETURN_IF_ERROR(
      ParallelRanges(budget, slice.count(), kNumbersPerTask, [&](size_t begin, size_t end) {
        uint32_t* at = numbers.data() + begin;
        return ForEachBlock<SymbolId>(slice, begin, end, budget, [&](const Block<SymbolId>& block) {
          for (SymbolId id : block.elements) *at++ = static_cast<uint32_t>(NumberOf(id, known));
        });
      }));
  return names.Copy(numbers, budget);
}

// Items copied between two checks of the time. It is small because items of lists may be long.
constexpr size_t kItemsBetweenLooks = 256;

absl::StatusOr<Value> MaterialiseList(const Slice& slice, Budget& budget) {
  std::vector<Value> items;
  for (uint32_t row : slice.rows->ToVector()) {
    if (items.size() % kItemsBetweenLooks == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_ASSIGN_OR_RETURN(Value item, slice.column.At(row));
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(item)));
    items.push_back(std::move(item));
  }
  return Value::List(std::move(items));
}

// Copies items and charges each one first: rows may name a long item any number of times.
absl::StatusOr<Value> CopyItems(const std::vector<Value>& items, std::span<const uint32_t> rows,
                                Budget& budget) {
  const Value missing = MissingItem(items);
  std::vector<Value> taken;
  taken.reserve(rows.size());
  for (const uint32_t row : rows) {
    if (taken.size() % kItemsBetweenLooks == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    const Value& item = row == kNoItem ? missing : items[row];
    if (!item.is_atom()) TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(item)));
    taken.push_back(item);
  }
  return Collapse(std::move(taken));
}

// Copies the names of scattered rows of a stored column, some of which may be kNoItem.
absl::StatusOr<Value> GatherStoredSymbols(const StoredColumn& column,
                                          std::span<const uint32_t> rows) {
  SymbolVector names;
  names.reserve(rows.size(), rows.size() * 8);
  for (const uint32_t& row : rows) {
    SymbolId id = kNullSymbol;
    if (row != kNoItem) TS_RETURN_IF_ERROR(column.ReadAt({&row, 1}, &id));
    names.AppendName(column.symbols().NameOf(id));
  }
  return Value::Symbols(std::move(names));
}

absl::StatusOr<Value> CopyOne(ColumnCopy copy, Budget& budget) {
  TS_RETURN_IF_ERROR(CopyAll(std::span(&copy, 1), budget));
  return std::move(copy).Finish();
}

}  // namespace

ColumnCopy::ColumnCopy(const Slice& slice)
    : column_(slice.column),
      type_(column_.type()),
      rows_(slice.rows),
      first_row_(rows_->begin_row()),
      layout_(column_.layout()) {
  for (const PostingRun& run : rows_->runs()) AddRun(run.rows, run.medium);
  count_ = rows_->count();
  in_ranges_ = runs_.empty();
}

ColumnCopy::ColumnCopy(AnyColumn column, std::span<const uint32_t> positions)
    : column_(std::move(column)), type_(column_.type()), layout_(column_.layout()) {
  AddRun(positions, nullptr);
}

void ColumnCopy::AddRun(std::span<const uint32_t> rows, mem::Medium* medium) {
  runs_.push_back({count_, rows, medium});
  count_ += rows.size();
}

absl::Status ColumnCopy::Reserve(Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(count_, WidthOf(type_)));
  bytes_.reserve(count_ * WidthOf(type_));
  bytes_.resize(count_ * WidthOf(type_));
  if (!column_.direct()) return absl::OkStatus();
  const size_t chunks = column_.rows() == 0 ? 0 : layout_.Chunks(column_.rows());
  origins_.reserve(chunks);
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    VisitElementType(type_, [&]<typename T>(std::type_identity<T>) {
      const auto begin = reinterpret_cast<uintptr_t>(column_.Chunk<T>(chunk).data());
      origins_.push_back(begin - layout_.BeginRow(chunk) * sizeof(T));
    });
  }
  return absl::OkStatus();
}

absl::Status ColumnCopy::CopyRows(size_t begin_row, size_t end_row, std::byte* out) const {
  const size_t width = WidthOf(type_);
  if (!column_.direct()) return column_.stored()->Read(begin_row, end_row - begin_row, out);
  TS_RETURN_IF_ERROR(column_.Verify(begin_row, end_row));
  EachPart(layout_, begin_row, end_row, [&](size_t row, size_t part_end) {
    mem::MediumAccess access(column_.medium());
    const auto* const from =
        reinterpret_cast<const void*>(origins_[layout_.NumberOf(row)] + row * width);
    std::memcpy(out + (row - begin_row) * width, from, (part_end - row) * width);
    access.ReadInOrder(from, (part_end - row) * width);
  });
  return absl::OkStatus();
}

absl::Status ColumnCopy::CopyRange(size_t begin, size_t end) {
  const size_t width = WidthOf(type_);
  if (!rows_->has_ranges()) {
    return CopyRows(first_row_ + begin, first_row_ + end, bytes_.data() + begin * width);
  }
  return rows_->EachRange(begin, end, [&](size_t row, size_t end_row, size_t position) {
    return CopyRows(row, end_row, bytes_.data() + position * width);
  });
}

template <typename T>
absl::Status ColumnCopy::GatherMade(std::span<const uint32_t> rows, T* out) const {
  const T missing = NullElement<T>(type_);
  for (size_t i = 0; i < rows.size(); ++i) {
    out[i] = missing;
    if (rows[i] == kNoItem) continue;
    TS_RETURN_IF_ERROR(column_.stored()->ReadAt(rows.subspan(i, 1), out + i));
  }
  return absl::OkStatus();
}

template <typename T>
void ColumnCopy::Gather(std::span<const uint32_t> rows, T* out) const {
  const uintptr_t* const origins = origins_.data();
  const ChunkLayout layout = layout_;
  const auto at = [&](uint32_t row) {
    return reinterpret_cast<const T*>(origins[layout.NumberOf(row)] + row * sizeof(T));
  };
  const T missing = NullElement<T>(type_);
  const auto take = [&](uint32_t row) { return row == kNoItem ? missing : *at(row); };
  const size_t ahead_end = rows.size() - std::min(rows.size(), kAhead);
  size_t i = 0;
  for (; i < ahead_end; ++i) {
    if (const uint32_t ahead = rows[i + kAhead]; ahead != kNoItem) __builtin_prefetch(at(ahead));
    out[i] = take(rows[i]);
  }
  for (; i < rows.size(); ++i) out[i] = take(rows[i]);
}

absl::Status ColumnCopy::Copy(size_t begin, size_t end) {
  if (begin == end) return absl::OkStatus();
  if (in_ranges_) return CopyRange(begin, end);
  auto run = std::prev(std::ranges::upper_bound(runs_, begin, {}, &Run::begin));
  for (; begin < end; ++run) {
    const size_t n = std::min(end, run->begin + run->rows.size()) - begin;
    const std::span<const uint32_t> rows = run->rows.subspan(begin - run->begin, n);
    if (column_.direct()) TS_RETURN_IF_ERROR(column_.VerifyAt(rows));
    TS_RETURN_IF_ERROR(VisitElementType(type_, [&]<typename T>(std::type_identity<T>) {
      T* const out = reinterpret_cast<T*>(bytes_.data()) + begin;
      if (!column_.direct()) return GatherMade(rows, out);
      mem::MediumAccess access(column_.medium()), index_access(run->medium);
      Gather(rows, out);
      index_access.ReadInOrder(rows.data(), rows.size_bytes());
      access.ReadRows(rows, sizeof(T));
      return absl::OkStatus();
    }));
    begin += n;
  }
  return absl::OkStatus();
}

Value ColumnCopy::Finish() && { return Value::Vector(type_, std::move(bytes_)); }

absl::Status CopyAll(std::span<ColumnCopy> copies, Budget& budget) {
  struct Task {
    ColumnCopy* copy;
    size_t begin;
  };
  ScratchVector<Task> tasks;
  size_t items = 0;
  for (ColumnCopy& copy : copies) {
    TS_RETURN_IF_ERROR(copy.Reserve(budget));
    items += copy.count();
    for (size_t begin = 0; begin < copy.count(); begin += kStep) tasks.push_back({&copy, begin});
  }
  if (items <= kStep) {  // Waking another thread would take longer than this work.
    for (ColumnCopy& copy : copies) TS_RETURN_IF_ERROR(copy.Copy(0, copy.count()));
    return absl::OkStatus();
  }
  return ParallelTasks(budget, tasks.size(), [&](size_t i) {
    const Task& task = tasks[i];
    return task.copy->Copy(task.begin, std::min(task.begin + kStep, task.copy->count()));
  });
}

absl::StatusOr<Value> Materialise(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) return MaterialiseList(slice, budget);
  if (slice.type() != Type::kSymbol) return CopyOne(ColumnCopy(slice), budget);
  if (slice.column.has_ids()) return MaterialiseCapturedSymbols(slice, budget);
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(uint32_t)));
  if (slice.IsAll()) {
    TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(size_t) + 8));
    return *slice.column.value();
  }
  return CopyNames(*slice.column.value(), slice.rows->ToVector(), budget);
}

absl::StatusOr<Value> Release(Slice slice, Budget& budget) {
  if (slice.IsAll()) {
    if (std::optional<Value> value = std::move(slice.column).Release()) return *std::move(value);
  }
  return Materialise(slice, budget);
}

absl::StatusOr<Value> GatherRows(const AnyColumn& column, std::span<const uint32_t> rows,
                                 Budget& budget) {
  const Type type = column.type();
  if (IsFixedWidth(type)) return CopyOne(ColumnCopy(column, rows), budget);
  if (type == Type::kSymbol && !column.has_ids()) return CopyNames(*column.value(), rows, budget);
  TS_RETURN_IF_ERROR(type == Type::kSymbol ? budget.Charge(rows.size(), sizeof(size_t) + 8)
                                           : budget.ChargeItems(rows.size()));
  if (column.value() != nullptr && column.value()->is_list()) {
    return CopyItems(column.value()->items(), rows, budget);
  }
  if (column.value() != nullptr) return TakeItems(*column.value(), rows);
  if (type == Type::kSymbol && column.stored() != nullptr) {
    return GatherStoredSymbols(*column.stored(), rows);
  }
  if (type == Type::kSymbol) {
    SymbolVector names;
    names.reserve(rows.size(), rows.size() * 8);
    mem::MediumAccess access(column.medium());
    for (uint32_t row : rows) {
      names.push_back(row == kNoItem ? "" : column.symbols().NameOf(column.IdAt(row)));
    }
    access.ReadRows(rows, sizeof(SymbolId));
    return Value::Symbols(std::move(names));
  }
  Value missing = Value::List({});
  if (column.rows() > 0) {
    TS_ASSIGN_OR_RETURN(const Value first, column.At(0));
    if (first.is_vector()) missing = EmptyVector(first.type());
  }
  std::vector<Value> items;
  for (uint32_t row : rows) {
    if (row == kNoItem) {
      items.push_back(missing);
      continue;
    }
    TS_ASSIGN_OR_RETURN(Value item, column.At(row));
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(item)));
    items.push_back(std::move(item));
  }
  return Value::List(std::move(items));
}

}  // namespace tickstack::query
