#include "table/table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "mem/copy.h"
#include "table/column.h"
#include "table/joined_snapshots.h"
#include "table/keyed_table.h"
#include "table/record.h"
#include "table/replaced_memory.h"

namespace tickstack {
namespace {

constexpr std::string_view kIndexedColumn = "sym";
constexpr std::string_view kTimeColumn = "time";

int FindColumn(const Schema& schema, std::string_view name, std::initializer_list<Type> types) {
  const int i = schema.Find(name);
  if (i < 0) return -1;
  for (const Type type : types) {
    if (schema.columns[static_cast<size_t>(i)].type == type) return i;
  }
  return -1;
}

std::vector<mem::Tier*> TiersOf(const Schema& schema, const TablePlacement& placement) {
  std::vector<mem::Tier*> tiers;
  for (size_t i = 0; i < schema.columns.size(); ++i) tiers.push_back(placement.OfColumn(i));
  return tiers;
}

// Checks that the table is in one persistent tier or in none: a restart loads a table whole or not
// at all, and a missing column would need the log again.
absl::Status CheckPlacement(const Schema& schema, const TablePlacement& placement,
                            const TableOptions& options) {
  std::vector<mem::Tier*> tiers = TiersOf(schema, placement);
  if (options.index && HasIndex(schema)) tiers.push_back(placement.OfIndex());
  const auto some = std::find_if(tiers.begin(), tiers.end(),
                                 [](mem::Tier* tier) { return tier->persistent() != nullptr; });
  if (some == tiers.end()) return absl::OkStatus();
  if (schema.key_columns > 0) {
    return InvalidArgument(
        "table {}: it has a key, and tier {} is persistent: expected a tier of another kind, rows "
        "that are replaced in place do not outlive the process yet",
        schema.table, (*some)->Stats().name);
  }
  if (std::count(tiers.begin(), tiers.end(), tiers.front()) !=
      static_cast<ptrdiff_t>(tiers.size())) {
    return InvalidArgument(
        "table {}: a part of it is in a persistent tier, expected all columns and the index in the "
        "same one",
        schema.table);
  }
  return absl::OkStatus();
}

absl::Status CheckTable(const Schema& schema, const TablePlacement& placement,
                        const TableOptions& options) {
  if (schema.columns.empty()) return InvalidArgument("table {}: no columns", schema.table);
  if (!std::has_single_bit(options.rows_per_chunk) || options.rows_per_chunk < 64) {
    return InvalidArgument("table {}: {} rows per chunk, expected a power of two from 64 on",
                           schema.table, options.rows_per_chunk);
  }
  if (!std::has_single_bit(options.rows_per_block) || options.rows_per_block < 64 ||
      options.rows_per_block > 1024) {
    return InvalidArgument("table {}: {} rows per block, expected a power of two from 64 to 1,024",
                           schema.table, options.rows_per_block);
  }
  TS_CHECK(placement.columns != nullptr);
  TS_CHECK(options.rows_max < UINT32_MAX);
  TS_RETURN_IF_ERROR(CheckKeyedSchema(schema));
  return CheckPlacement(schema, placement, options);
}

// Returns the bytes of an element in a column; a nested one has its offset and length.
size_t BytesOf(Type type) {
  if (type == Type::kList) return 16;
  return type == Type::kSymbol ? sizeof(SymbolId) : WidthOf(type);
}

size_t RowsPerChunk(const Schema& schema, const TablePlacement& placement,
                    const TableOptions& options) {
  std::vector<ColumnTier> tiers;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const mem::Tier* const tier = placement.OfColumn(i);
    tiers.push_back({tier, tier->Stats().capacity_bytes});
  }
  return FittingRowsPerChunk(schema, tiers, options.rows_per_chunk);
}

}  // namespace

size_t FittingRowsPerChunk(const Schema& schema, std::span<const ColumnTier> tiers,
                           size_t rows_per_chunk) {
  constexpr size_t kRowsMin = 1024, kChunksMin = 32;
  // The bytes of a row in each tier, with the tier's capacity.
  std::map<const void*, std::pair<size_t, size_t>> row_bytes;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    auto& [bytes, capacity] = row_bytes[tiers[i].tier];
    bytes += BytesOf(schema.columns[i].type);
    capacity = tiers[i].capacity_bytes;
  }
  size_t rows = rows_per_chunk;
  for (const auto& [tier, taken] : row_bytes) {
    const size_t fitting = taken.second / kChunksMin / taken.first;
    rows = std::min(rows, std::bit_floor(std::max(fitting, kRowsMin)));
  }
  return rows;
}

int IndexedColumn(const Schema& schema) {
  const int column = FindColumn(schema, kIndexedColumn, {Type::kSymbol});
  if (schema.key_columns == 0) return column;
  return schema.key_columns > 1 && column < static_cast<int>(schema.key_columns) ? column : -1;
}

bool HasIndex(const Schema& schema) { return schema.key_columns > 0 || IndexedColumn(schema) >= 0; }

struct Table::Impl {
  Impl(Schema of, SymbolTable* names, const TablePlacement& placement, const TableOptions& how)
      : schema(std::move(of)), symbols(names), options(how), layout(how.rows_per_chunk) {
    persistent = placement.OfColumn(0)->persistent();
    if (options.index) indexed = IndexedColumn(schema);
    if (schema.key_columns > 0) {
      keyed = std::make_unique<KeyedTable>(schema, symbols, TiersOf(schema, placement),
                                           placement.OfIndex(), indexed, options.rows_per_block,
                                           options.rows_max);
      return;
    }
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      mem::Tier* const tier = placement.OfColumn(i);
      columns.emplace_back(schema.columns[i].type, layout, tier);
      if (tier->aged() != nullptr && moved == nullptr) moved = std::make_unique<ReplacedMemory>();
    }
    time = FindColumn(schema, kTimeColumn, {Type::kTimestamp, Type::kTimespan});
    if (indexed < 0) return;
    const Column* const times = time < 0 ? nullptr : &columns[static_cast<size_t>(time)];
    index = std::make_unique<SymbolIndex>(placement.OfIndex(), times);
  }

  absl::Status Append(const BatchView& batch);
  std::optional<AgedChunk> FindRecent(size_t begin, size_t end, const mem::Tier* recent) const;
  absl::StatusOr<size_t> MoveToOlder(size_t chunk);
  void Save(ByteBuffer& root, bool whole_index);
  absl::Status LoadRows(RecordReader& root, size_t loaded, WorkerPool& workers);
  absl::Status VerifyColumns(size_t loaded, WorkerPool& workers) const;
  absl::Status Prepare(const BatchView& batch, size_t begin_row);
  absl::Status ReserveIndex(size_t begin_row, size_t batch_rows);
  void AppendIndex(size_t begin_row, size_t batch_rows);
  void NoteTimes(size_t begin_row, size_t batch_rows);
  absl::Status CheckSymbols(size_t loaded) const;
  template <typename Visit>
  void EachIndexedPart(size_t begin_row, size_t batch_rows, Visit visit) const;

  const Schema schema;
  SymbolTable* const symbols;
  const TableOptions options;
  const ChunkLayout layout;
  // Holds all rows and indexes of a table with a key; otherwise nullptr.
  std::unique_ptr<KeyedTable> keyed;
  std::deque<Column> columns;  // A deque, because a column must not move.
  std::unique_ptr<SymbolIndex> index;
  int indexed = -1;
  int time = -1;
  ChunkTimes chunk_times;  // The chunks' bounds of the column `time`.
  // Chunks that copies in an older tier have replaced; nullptr if no column is in an aged tier.
  std::unique_ptr<ReplacedMemory> moved;
  // The tier of all of the table, if that is a persistent one.
  mem::PersistentTier* persistent = nullptr;
  size_t saved_rows = 0;  // Rows that Save flushed. Writer only.
  // Stored last in Append with release, and loaded in TakeSnapshot with acquire. This pair orders
  // everything that a reader may touch.
  std::atomic<size_t> rows = 0;
};

// Calls visit(ids, times, first_row) for each piece of the rows that lies in one chunk.
template <typename Visit>
void Table::Impl::EachIndexedPart(size_t begin_row, size_t batch_rows, Visit visit) const {
  const Column& names = columns[static_cast<size_t>(indexed)];
  EachPart(layout, begin_row, begin_row + batch_rows, [&](size_t row, size_t end_row) {
    const std::span<const SymbolId> ids(reinterpret_cast<const SymbolId*>(names.Element(row)),
                                        end_row - row);
    const int64_t* times = nullptr;
    if (time >= 0) {
      times = reinterpret_cast<const int64_t*>(columns[static_cast<size_t>(time)].Element(row));
    }
    visit(ids, times, static_cast<uint32_t>(row));
  });
}

absl::Status Table::Impl::ReserveIndex(size_t begin_row, size_t batch_rows) {
  absl::Status status;
  EachIndexedPart(begin_row, batch_rows,
                  [&](std::span<const SymbolId> ids, const int64_t*, uint32_t) {
                    if (status.ok()) status = index->Reserve(ids);
                  });
  if (status.ok()) return status;
  EachIndexedPart(
      begin_row, batch_rows,
      [&](std::span<const SymbolId> ids, const int64_t*, uint32_t) { index->Cancel(ids); });
  return Annotate(status, "index");
}

// Checks the numbers of names, which come from a file: the index makes room according to them.
absl::Status Table::Impl::CheckSymbols(size_t loaded) const {
  const auto names = static_cast<uint32_t>(symbols->size());
  const Column& column = columns[static_cast<size_t>(indexed)];
  size_t strange = 0;
  EachPart(layout, 0, loaded, [&](size_t row, size_t end_row) {
    const auto* const ids = reinterpret_cast<const SymbolId*>(column.Element(row));
    for (size_t i = 0; i < end_row - row; ++i) {
      strange += static_cast<uint32_t>(ids[i]) >= names && ids[i] != kNullSymbol ? 1 : 0;
    }
  });
  if (strange == 0) return absl::OkStatus();
  return DataLoss("{}: {} of {} names have no number below {}", kIndexedColumn, strange, loaded,
                  names);
}

void Table::Impl::AppendIndex(size_t begin_row, size_t batch_rows) {
  EachIndexedPart(begin_row, batch_rows,
                  [&](std::span<const SymbolId> ids, const int64_t* times, uint32_t first_row) {
                    index->Append(ids, times, first_row);
                  });
}

void Table::Impl::NoteTimes(size_t begin_row, size_t batch_rows) {
  const Column& times = columns[static_cast<size_t>(time)];
  EachPart(layout, begin_row, begin_row + batch_rows, [&](size_t row, size_t end_row) {
    const auto* const time_ns = reinterpret_cast<const int64_t*>(times.Element(row));
    chunk_times.Note(layout, row, {time_ns, end_row - row});
  });
}

// Does everything that can fail. It writes symbols behind the published rows, where nobody looks,
// so that the index can be reserved for them. A batch that is refused leaves only reserved memory
// behind.
absl::Status Table::Impl::Prepare(const BatchView& batch, size_t begin_row) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const absl::Status status = columns[i].Reserve(batch.columns[i], begin_row);
    if (!status.ok()) return Annotate(status, schema.columns[i].name);
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type() != Type::kSymbol) continue;
    const absl::Status status = columns[i].WriteSymbols(batch.columns[i], begin_row, *symbols);
    if (!status.ok()) return Annotate(status, schema.columns[i].name);
  }
  return index == nullptr ? absl::OkStatus() : ReserveIndex(begin_row, batch.rows);
}

absl::Status Table::Impl::Append(const BatchView& batch) {
  TS_RETURN_IF_ERROR(CheckBatch(schema, batch));
  if (batch.rows == 0) return absl::OkStatus();
  if (keyed != nullptr) {
    const absl::Status upserted = keyed->Upsert(batch);
    if (!upserted.ok()) return Annotate(upserted, fmt::format("table {}", schema.table));
    rows.store(keyed->rows(), std::memory_order_release);
    return absl::OkStatus();
  }
  const size_t begin_row = rows.load(std::memory_order_relaxed);
  if (batch.rows > options.rows_max - begin_row) {
    return ResourceExhausted("table {}: {} rows more than {}: it takes {} rows", schema.table,
                             batch.rows, begin_row, options.rows_max);
  }
  const absl::Status status = Prepare(batch, begin_row);
  if (!status.ok()) return Annotate(status, fmt::format("table {}", schema.table));
  bool streamed = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type() == Type::kSymbol) continue;
    const bool may_stream = static_cast<int>(i) != time;  // Times are read back at once.
    streamed |= columns[i].Write(batch.columns[i], begin_row, may_stream);
  }
  if (persistent != nullptr) {
    for (Column& column : columns) column.Sum(begin_row, begin_row + batch.rows);
  }
  if (time >= 0) NoteTimes(begin_row, batch.rows);
  if (index != nullptr) AppendIndex(begin_row, batch.rows);
  // A release-store does not order writes that bypass the caches.
  if (streamed) mem::DrainStreaming();
  rows.store(begin_row + batch.rows, std::memory_order_release);
  return absl::OkStatus();
}

std::optional<Table::AgedChunk> Table::Impl::FindRecent(size_t begin, size_t end,
                                                        const mem::Tier* recent) const {
  for (size_t chunk = begin; chunk < end; ++chunk) {
    size_t bytes = 0;
    for (const Column& column : columns) bytes += column.RecentBytes(chunk, recent);
    if (bytes == 0) continue;
    AgedChunk found{chunk, layout.Rows(chunk), bytes, std::nullopt};
    if (time >= 0 && columns[static_cast<size_t>(time)].type() == Type::kTimestamp) {
      found.newest_ns = chunk_times.Of(chunk).max_ns;
    }
    return found;
  }
  return std::nullopt;
}

// Copies all columns before it replaces any, so that a full tier changes nothing.
absl::StatusOr<size_t> Table::Impl::MoveToOlder(size_t chunk) {
  std::vector<std::byte*> copies(columns.size(), nullptr);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].RecentBytes(chunk) == 0) continue;
    absl::StatusOr<std::byte*> copy = columns[i].CopyToOlder(chunk);
    if (!copy.ok()) {
      for (size_t j = 0; j < i; ++j) {
        if (copies[j] != nullptr) columns[j].DropCopy(chunk, copies[j]);
      }
      return Annotate(copy.status(), fmt::format("table {}", schema.table));
    }
    copies[i] = *copy;
  }
  std::vector<ReplacedMemory::Piece> pieces;
  size_t bytes = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (copies[i] == nullptr) continue;
    bytes += columns[i].RecentBytes(chunk);
    pieces.push_back(columns[i].Replace(chunk, copies[i]));
  }
  moved->Replace(std::move(pieces));
  return bytes;
}

absl::StatusOr<std::shared_ptr<Table>> Table::Create(Schema schema, SymbolTable* symbols,
                                                     const TablePlacement& placement,
                                                     const TableOptions& options) {
  TS_CHECK(symbols != nullptr);
  TS_RETURN_IF_ERROR(CheckTable(schema, placement, options));
  TableOptions adapted = options;
  adapted.rows_per_chunk = RowsPerChunk(schema, placement, options);
  return std::shared_ptr<Table>(
      new Table(std::make_unique<Impl>(std::move(schema), symbols, placement, adapted)));
}

void Table::Impl::Save(ByteBuffer& root, bool whole_index) {
  TS_CHECK(persistent != nullptr);
  const size_t now = rows.load(std::memory_order_relaxed);
  AppendBytes(AsBytes(schema.table), root);
  AppendBytes(AsBytes(FormatSchema(schema)), root);
  root.AppendLittle(uint64_t{options.rows_per_chunk});
  root.AppendLittle(uint64_t{now});
  root.AppendLittle(uint8_t{options.index});
  for (Column& column : columns) {
    column.Flush(saved_rows, now);
    column.Save(root);
  }
  saved_rows = now;
  if (index != nullptr) index->Save(root, now, whole_index);
}

// Compares all columns with their checksums, a chunk per task.
absl::Status Table::Impl::VerifyColumns(size_t loaded, WorkerPool& workers) const {
  const size_t chunks = layout.Chunks(loaded);
  return workers.ParallelFor(columns.size() * chunks, [&](size_t task) {
    const size_t column = task / chunks;
    return Annotate(columns[column].Verify(task % chunks, loaded), schema.columns[column].name);
  });
}

absl::Status Table::Impl::LoadRows(RecordReader& root, size_t loaded, WorkerPool& workers) {
  for (size_t i = 0; i < columns.size(); ++i) {
    TS_RETURN_IF_ERROR(Annotate(columns[i].Load(root, loaded), schema.columns[i].name));
  }
  TS_RETURN_IF_ERROR(VerifyColumns(loaded, workers));
  saved_rows = loaded;
  // Reading all times would take the time that loading saves.
  chunk_times.Skip(layout.Chunks(loaded));
  if (index != nullptr) {
    TS_ASSIGN_OR_RETURN(const size_t indexed_rows, index->Load(root, loaded, workers));
    TS_RETURN_IF_ERROR(CheckSymbols(loaded));
    // Indexes the rows that came after the index was saved.
    TS_RETURN_IF_ERROR(ReserveIndex(indexed_rows, loaded - indexed_rows));
    AppendIndex(indexed_rows, loaded - indexed_rows);
  }
  rows.store(loaded, std::memory_order_release);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Table>> Table::Load(RecordReader& root, SymbolTable* symbols,
                                                   mem::PersistentTier* tier,
                                                   const TableOptions& options,
                                                   WorkerPool& workers) {
  std::string name, columns;
  uint64_t rows_per_chunk = 0, rows = 0;
  uint8_t index = 0;
  if (!root.ReadText(&name) || !root.ReadText(&columns) || !root.Read(&rows_per_chunk) ||
      !root.Read(&rows) || !root.Read(&index)) {
    return DataLoss("root: a table's record is cut short");
  }
  const std::string place = fmt::format("table {}", name);
  absl::StatusOr<Schema> schema = ParseSchema(name, columns);
  if (!schema.ok()) return DataLoss("{}: {}", place, Message(schema.status()));
  TableOptions loaded = options;
  loaded.rows_per_chunk = rows_per_chunk;
  loaded.index = index != 0;
  const TablePlacement placement{tier, {}, nullptr};
  const absl::Status sound = CheckTable(*schema, placement, loaded);
  if (!sound.ok()) return DataLoss("{}", Message(sound));
  std::shared_ptr<Table> table(
      new Table(std::make_unique<Impl>(*std::move(schema), symbols, placement, loaded)));
  if (rows > options.rows_max) {
    return DataLoss("{}: {} rows, expected {} at most", place, rows, options.rows_max);
  }
  TS_RETURN_IF_ERROR(Annotate(table->impl_->LoadRows(root, rows, workers), place));
  return table;
}

Table::Table(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Table::~Table() = default;

absl::Status Table::Append(const BatchView& batch) { return impl_->Append(batch); }

bool Table::durable() const { return impl_->persistent != nullptr; }
void Table::DropAdditions() {
  if (impl_->index != nullptr) impl_->index->DropAdditions();
}
void Table::Save(ByteBuffer& root, bool whole_index) { impl_->Save(root, whole_index); }

Snapshot Table::TakeSnapshot() const {
  const std::shared_ptr<const Table> self = shared_from_this();
  if (impl_->moved != nullptr) {
    // The lease comes first: chunks that are read later may be those of the lease or newer ones.
    std::shared_ptr<const void> lease = impl_->moved->Take();
    return Snapshot(self, rows(), std::move(lease));
  }
  if (impl_->keyed == nullptr) return Snapshot(self, rows());
  return Snapshot(self, impl_->keyed->Pin(self));
}

size_t Table::rows() const { return impl_->rows.load(std::memory_order_acquire); }
const Schema& Table::schema() const { return impl_->schema; }
const SymbolTable& Table::symbols() const { return *impl_->symbols; }
int Table::indexed_column() const { return impl_->indexed; }
bool Table::has_index() const { return impl_->indexed >= 0 || impl_->keyed != nullptr; }
size_t Table::bytes() const {
  size_t total = index_bytes();
  for (size_t i = 0; i < schema().columns.size(); ++i) total += column_bytes(i);
  return total;
}
size_t Table::column_bytes(size_t column) const {
  TS_CHECK(column < schema().columns.size());
  return impl_->keyed != nullptr ? impl_->keyed->column_bytes(column)
                                 : impl_->columns[column].bytes();
}
size_t Table::index_bytes() const {
  if (impl_->keyed != nullptr) return impl_->keyed->index_bytes();
  return impl_->index == nullptr ? 0 : impl_->index->bytes();
}

size_t Table::older_bytes(size_t column) const {
  TS_CHECK(column < schema().columns.size());
  return impl_->keyed != nullptr ? 0 : impl_->columns[column].older_bytes();
}
size_t Table::full_chunks() const {
  const size_t published = rows();
  const size_t chunks = impl_->layout.Chunks(published);
  if (impl_->moved == nullptr || chunks == 0) return 0;
  return impl_->layout.ChunkOf(published - 1).end_row == published ? chunks : chunks - 1;
}
std::optional<Table::AgedChunk> Table::FindRecent(size_t begin, const mem::Tier* recent) const {
  return impl_->FindRecent(begin, full_chunks(), recent);
}
absl::StatusOr<size_t> Table::MoveToOlder(size_t chunk) const {
  TS_CHECK(chunk < full_chunks());
  return impl_->MoveToOlder(chunk);
}
size_t Table::WaitingBytes(const mem::Tier* recent) const {
  return impl_->moved == nullptr ? 0 : impl_->moved->WaitingBytes(recent);
}

Snapshot Snapshot::Join(std::vector<Snapshot> parts) {
  TS_CHECK(!parts.empty());
  Snapshot last = parts.back();
  std::erase_if(parts, [](const Snapshot& part) { return part.rows() == 0; });
  if (parts.empty()) return last;
  Snapshot joined = parts.front();
  if (parts.size() == 1) return joined;
  auto all = std::make_shared<const JoinedSnapshots>(std::move(parts));
  joined.rows_ = all->rows();
  joined.view_ = nullptr;
  joined.joined_ = std::move(all);
  return joined;
}

const Schema& Snapshot::schema() const { return table_->impl_->schema; }

const ChunkLayout& Snapshot::layout() const {
  if (joined_ != nullptr) return joined_->layout();
  return view_ == nullptr ? table_->impl_->layout : table_->impl_->keyed->layout();
}

std::span<const std::byte> Snapshot::ChunkBytes(size_t column, size_t chunk) const {
  TS_CHECK(column < schema().columns.size() && chunk < chunks());
  if (joined_ != nullptr) return joined_->ChunkBytes(column, chunk);
  if (view_ != nullptr) return view_->Elements(column, chunk);
  return table_->impl_->columns[column].Elements(
      chunk, std::min(rows_ - layout().BeginRow(chunk), layout().Rows(chunk)));
}

std::optional<TimeBounds> Snapshot::TimesOf(size_t column, size_t chunk) const {
  TS_CHECK(chunk < chunks());
  if (joined_ != nullptr) return joined_->TimesOf(column, chunk);
  if (table_->impl_->time != static_cast<int>(column)) return std::nullopt;
  return table_->impl_->chunk_times.Of(chunk);
}

mem::Medium* Snapshot::MediumOf(size_t column) const {
  TS_CHECK(column < schema().columns.size());
  return table_->impl_->keyed != nullptr ? table_->impl_->keyed->medium(column)
                                         : table_->impl_->columns[column].medium();
}

std::span<const std::byte> Snapshot::Item(size_t column, size_t row) const {
  TS_CHECK(column < schema().columns.size() && row < rows_ && view_ == nullptr);
  if (joined_ != nullptr) return joined_->Item(column, row);
  return table_->impl_->columns[column].Item(row);
}

const SymbolIndex* Snapshot::Index() const {
  return table_->impl_->keyed == nullptr ? table_->impl_->index.get()
                                         : table_->impl_->keyed->symbol_index();
}

std::optional<Postings> Snapshot::RowsOf(SymbolId symbol) const {
  const SymbolIndex* const index = Index();
  if (index == nullptr) return std::nullopt;
  return joined_ != nullptr ? joined_->RowsOf(symbol) : index->Find(symbol, rows_);
}

std::optional<PostingEnds> Snapshot::EndsOf(SymbolId symbol) const {
  const SymbolIndex* const index = Index();
  if (index == nullptr) return std::nullopt;
  return joined_ != nullptr ? joined_->EndsOf(symbol) : index->EndsOf(symbol, rows_);
}

}  // namespace tickstack
