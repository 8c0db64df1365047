#include "feed/sources/shard_source.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "wire/codec.h"
#include "wire/upd_encoder.h"

namespace tickstack::feed {
namespace {

// A rewind reads rows before they are due. This much of the source's time at once gives batches
// that are large enough.
constexpr int64_t kReadAheadNs = 1'000'000'000;

int64_t RowsOf(const NameMap<int64_t>& rows, std::string_view table) {
  const auto found = rows.find(table);
  return found == rows.end() ? 0 : found->second;
}

// Returns the bytes of a name with its NUL. Names are short: a loop is faster than strlen.
size_t NameBytes(const std::byte* name) {
  size_t bytes = 0;
  while (name[bytes++] != std::byte{0}) {
  }
  return bytes;
}

template <size_t kWidth>
void CopyRows(const std::byte* from, std::span<const size_t> chosen, std::byte* to) {
  for (const size_t row : chosen) {
    std::memcpy(to, from + row * kWidth, kWidth);
    to += kWidth;
  }
}

// Appends the chosen rows of a column. A constant width makes each copy one instruction.
void AppendRows(const ColumnView& column, std::span<const size_t> chosen, ByteBuffer& out) {
  const std::byte* at = column.data.data();
  const size_t width = WidthOf(column.type);
  if (width != 0) {
    std::byte* const to = out.Extend(chosen.size() * width);
    if (width == 1) return CopyRows<1>(at, chosen, to);
    if (width == 2) return CopyRows<2>(at, chosen, to);
    if (width == 4) return CopyRows<4>(at, chosen, to);
    if (width == 8) return CopyRows<8>(at, chosen, to);
    return CopyRows<16>(at, chosen, to);
  }
  size_t next = 0;
  for (size_t row = 0; row < column.rows && next < chosen.size(); ++row) {
    const size_t bytes =
        column.type == Type::kSymbol
            ? NameBytes(at)
            : wire::ValueBytes(column.data.subspan(static_cast<size_t>(at - column.data.data())))
                  ->value();
    if (chosen[next] == row) {
      out.Append(std::span(at, bytes));
      ++next;
    }
    at += bytes;
  }
}

// Appends names with their NULs. They are in `column`.
void AppendNames(std::span<const std::span<const std::byte>> names,
                 std::span<const std::byte> column, ByteBuffer& out) {
  constexpr size_t kAtOnce = 8;
  size_t total = 0;
  for (const auto& name : names) total += name.size();
  // Names are short: a copy of a constant size is one instruction, if there is room behind both.
  std::byte* to = out.Extend(total);
  std::byte* const to_end = to + total;
  const std::byte* const from_end = column.data() + column.size();
  for (const auto& name : names) {
    const bool fits = name.size() <= kAtOnce && to_end - to >= static_cast<ptrdiff_t>(kAtOnce) &&
                      from_end - name.data() >= static_cast<ptrdiff_t>(kAtOnce);
    std::memcpy(to, name.data(), fits ? kAtOnce : name.size());
    to += name.size();
  }
}

}  // namespace

ShardSource::ShardSource(std::unique_ptr<Source> source, std::shared_ptr<const ShardMap> map,
                         size_t shard, ShardSourceLimits limits)
    : source_(std::move(source)), cache_(std::move(map)), shard_(shard), limits_(limits) {}

absl::StatusOr<std::unique_ptr<ShardSource>> ShardSource::Create(
    std::unique_ptr<Source> source, std::shared_ptr<const ShardMap> map, size_t shard,
    const std::vector<Schema>& schemas, ShardSourceLimits limits) {
  std::unique_ptr<ShardSource> made(
      new ShardSource(std::move(source), std::move(map), shard, limits));
  for (const std::string& name : made->source_->tables()) {
    const auto schema = std::ranges::find(schemas, name, &Schema::table);
    if (schema == schemas.end()) {
      return InvalidArgument("shards: the source has a table {}, expected it in [tables]", name);
    }
    made->tables_[name] = {*schema, ShardColumnOf(*schema)};
  }
  const auto column_of = [](const auto& table) { return table.second.symbol_column; };
  const int column = made->tables_.empty() ? -1 : column_of(*made->tables_.begin());
  if (column >= 0 && std::ranges::count(made->tables_, column, column_of) ==
                         static_cast<ptrdiff_t>(made->tables_.size())) {
    const ShardMap& shards = made->cache_.map();
    made->source_->Select(static_cast<size_t>(column), [&shards, shard](std::string_view symbol) {
      return shards.ShardOf(symbol) == shard;
    });
  }
  return made;
}

std::string ShardSource::Describe() const {
  return fmt::format("{} shard={}", source_->Describe(), cache_.map().shards()[shard_]);
}

// Fills chosen_ with the rows of a batch that were not returned before, and moves the table's place
// to the end of the batch.
absl::StatusOr<ShardSource::Table*> ShardSource::Choose(const FeedBatch& batch) {
  const auto found = tables_.find(batch.table);
  if (found == tables_.end()) return InvalidArgument("shards: unknown table {}", batch.table);
  Table& table = found->second;
  chosen_.clear();
  symbols_.clear();
  symbol_column_ = nullptr;
  const auto skip = static_cast<size_t>(table.source_row - batch.first_row);
  TS_RETURN_IF_ERROR(batch.chosen ? TakeChosen(batch, table, skip)
                                  : ChooseRows(batch, table, skip));
  table.source_row = std::max(table.source_row, batch.first_row + batch.rows);
  table.shard_row += static_cast<int64_t>(chosen_.size());
  if (table.shard_row >= table.passed.back().second + limits_.place_rows) {
    table.passed.emplace_back(table.source_row, table.shard_row);
  }
  return &table;
}

absl::Status ShardSource::Decode(const FeedBatch& batch, const Table& table) {
  decoder_.NameColumns(&table.schema);
  return decoder_.DecodeX(batch.data, &rows_, table.schema.columns.size());
}

// Takes the rows that the source has chosen.
absl::Status ShardSource::TakeChosen(const FeedBatch& batch, const Table& table, size_t skip) {
  const auto first = std::ranges::lower_bound(*batch.chosen, skip);
  chosen_.assign(first, batch.chosen->end());
  has_all_ = first == batch.chosen->begin();
  if (has_all_ || chosen_.empty()) return absl::OkStatus();
  TS_RETURN_IF_ERROR(Decode(batch, table));
  in_data_.resize(chosen_.size());
  std::iota(in_data_.begin(), in_data_.end(), first - batch.chosen->begin());
  return absl::OkStatus();
}

// Chooses rows of a source that has all.
absl::Status ShardSource::ChooseRows(const FeedBatch& batch, const Table& table, size_t skip) {
  TS_RETURN_IF_ERROR(Decode(batch, table));
  const size_t columns = table.schema.columns.size();
  if (table.symbol_column < 0) {
    if (shard_ == 0 && skip < rows_.batch.rows) {
      chosen_.resize(rows_.batch.rows - skip);
      std::iota(chosen_.begin(), chosen_.end(), skip);
    }
  } else {
    // Rows without a time have a column less.
    const size_t missing = columns - std::min(columns, rows_.batch.columns.size());
    const size_t column = static_cast<size_t>(table.symbol_column) - missing;
    if (rows_.form == wire::UpdForm::kTable || missing > 1 ||
        column >= rows_.batch.columns.size() || rows_.batch.columns[column].type != Type::kSymbol) {
      return InvalidArgument("shards: row {} of {}: expected columns {}", batch.first_row,
                             batch.table, FormatSchema(table.schema));
    }
    const ColumnView& symbols = rows_.batch.columns[column];
    symbol_column_ = &symbols;
    chosen_.resize(symbols.rows);
    symbols_.resize(symbols.rows);
    size_t chosen = 0;
    const std::byte *const begin = symbols.data.data(), *const end = begin + symbols.data.size();
    const std::byte* at = begin;
    for (size_t row = 0; row < symbols.rows; ++row) {
      // Without a branch, which would often be mispredicted.
      const std::byte* const symbol = at;
      const bool is_here = cache_.ShardOfNext(at, end) == shard_;
      chosen_[chosen] = row;
      symbols_[chosen] = {symbol, at};
      chosen += static_cast<size_t>(is_here & (row >= skip));
    }
    chosen_.resize(chosen);
    symbols_.resize(chosen);
  }
  has_all_ = chosen_.size() == rows_.batch.rows;
  if (!has_all_) in_data_ = chosen_;
  return absl::OkStatus();
}

void ShardSource::Start(int64_t now_ns) {
  now_ns_ = now_ns;
  start_waits_ = seeks_;
  if (start_waits_) return;
  start_ns_ = now_ns;
  source_->Start(now_ns);
}

void ShardSource::MoveClock(int64_t ns) {
  if (start_waits_) return;  // The source has no start yet.
  now_ns_ += ns;
  start_ns_ += ns;
  source_->MoveClock(ns);
}

int64_t ShardSource::next_due_ns() const {
  const int64_t due_ns = source_->next_due_ns();
  const bool is_at_place = !seeks_ && !start_waits_;
  return is_at_place || due_ns == kAlwaysDue || due_ns == kNeverDue ? due_ns : now_ns_;
}

absl::StatusOr<const FeedBatch*> ShardSource::Next(int64_t now_ns) {
  now_ns_ = now_ns;
  if (seeks_) TS_RETURN_IF_ERROR(Seek());
  if (seeks_) return nullptr;
  if (start_waits_) Start(now_ns);
  while (rows_read_ < limits_.read_rows) {
    TS_ASSIGN_OR_RETURN(const FeedBatch* const batch, source_->Next(now_ns));
    if (batch == nullptr) break;
    rows_read_ += batch->rows;
    TS_ASSIGN_OR_RETURN(const Table* const table, Choose(*batch));
    if (chosen_.empty()) continue;
    const auto rows = static_cast<int64_t>(chosen_.size());
    batch_ = {batch->table, table->shard_row - rows, rows, batch->due_ns, batch->data};
    if (has_all_) return &batch_;
    data_.clear();
    wire::UpdEncoder x(data_);
    x.Columns(rows_.batch.columns.size());
    for (const ColumnView& column : rows_.batch.columns) {
      x.Column(column.type, chosen_.size());
      if (&column == symbol_column_) {
        AppendNames(symbols_, column.data, data_);
      } else {
        AppendRows(column, in_data_, data_);
      }
    }
    batch_.data = data_.span();
    return &batch_;
  }
  rows_read_ = 0;
  return nullptr;
}

absl::Status ShardSource::RewindSource(const NameMap<int64_t>& rows) {
  for (auto& [name, table] : tables_) table.source_row = RowsOf(rows, name);
  return source_->Rewind(rows);
}

absl::Status ShardSource::Rewind(const NameMap<int64_t>& rows_done) {
  rows_done_ = rows_done;
  place_.clear();
  NameMap<int64_t> from;
  for (auto& [name, table] : tables_) {
    const int64_t done = RowsOf(rows_done, name);
    const auto next =
        std::ranges::upper_bound(table.passed, done, {}, &std::pair<int64_t, int64_t>::second);
    std::tie(from[name], table.shard_row) = *std::prev(next);
    if (table.shard_row == done) place_[name] = from[name];
  }
  seeks_ = true;
  TS_RETURN_IF_ERROR(RewindSource(from));
  return Seek();
}

// Reads the source to find the rows before which the shard has rows_done_, at most read_rows rows.
absl::Status ShardSource::Seek() {
  for (int64_t rows = 0; seeks_ && rows < limits_.read_rows;) {
    const int64_t due_ns = source_->next_due_ns();
    if (place_.size() == tables_.size() || due_ns == kNeverDue) return EndSeek();
    // Rows before the one with which the source was started were due before that.
    const int64_t until_ns = due_ns == kAlwaysDue ? 0 : std::max(due_ns, start_ns_) + kReadAheadNs;
    TS_ASSIGN_OR_RETURN(const FeedBatch* const batch, source_->Next(until_ns));
    ++rows;
    if (batch == nullptr) {
      if (source_->next_due_ns() > until_ns) continue;
      // Not a place: the rows that follow would be sent again under numbers that the shard lacks.
      return absl::InternalError("shards: the source returns no rows, but is not at its end");
    }
    rows += batch->rows;
    TS_ASSIGN_OR_RETURN(const Table* const table, Choose(*batch));
    const int64_t done = RowsOf(rows_done_, batch->table);
    if (place_.contains(batch->table) || table->shard_row < done) continue;
    const int64_t before = table->shard_row - static_cast<int64_t>(chosen_.size());
    const size_t last = chosen_[static_cast<size_t>(done - before - 1)];
    place_[batch->table] = batch->first_row + static_cast<int64_t>(last) + 1;
  }
  return absl::OkStatus();
}

absl::Status ShardSource::EndSeek() {
  // The source may have fewer rows: then all are done.
  for (const auto& [name, table] : tables_) place_.try_emplace(name, table.source_row);
  for (auto& [name, table] : tables_) table.shard_row = RowsOf(rows_done_, name);
  seeks_ = false;
  return RewindSource(place_);
}

}  // namespace tickstack::feed
