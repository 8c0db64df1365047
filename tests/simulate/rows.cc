#include "tests/simulate/rows.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "disk/database.h"
#include "disk/database_check.h"
#include "feed/sources/market_rows.h"
#include "table/encoded.h"
#include "table/symbols.h"
#include "tests/simulate/notes.h"
#include "tplog/tplog_reader.h"
#include "wire/codec.h"
#include "wire/upd.h"

namespace tickstack::simulate {
namespace {

constexpr const char* kSymbols[] = {"A", "IBM", "MSFT", "BRK.A"};

aggengine::BarSpec Spec(std::string name, std::string table, int64_t width_ns,
                        std::vector<std::pair<std::string, std::string>> aggregates) {
  aggengine::BarSpec spec{std::move(name), std::move(table), width_ns, {}};
  for (const auto& [column, text] : aggregates) {
    spec.aggregates.push_back(*aggengine::ParseAggregate(column, text));
  }
  return spec;
}

std::string CellText(Type type, const std::byte* element) {
  switch (WidthOf(type)) {
    case 1:
      return fmt::format("{}", std::to_integer<int>(*element));
    case 4:
      return fmt::format("{}", LoadLittle<int32_t>(element));
    default:
      if (type == Type::kFloat) return fmt::format("{}", LoadLittle<double>(element));
      return fmt::format("{}", LoadLittle<int64_t>(element));
  }
}

std::string CellText(Type type, const Value& values, size_t row) {
  if (type == Type::kSymbol) return std::string(values.symbols()[row]);
  if (type == Type::kList) return TextOfNote(values.items()[row]);
  return CellText(type, values.elements().data() + row * WidthOf(type));
}

void AppendCell(std::string& text, std::string_view cell) {
  if (!text.empty()) text += '|';
  text += cell;
}

}  // namespace

const std::vector<Schema>& SourceSchemas() {
  static const std::vector<Schema> schemas = {
      *ParseSchema("trade", "time p, sym s, price f, size j, feed s, n j"),
      *ParseSchema("quote", "time p, sym s, bid f, ask f, feed s, n j")};
  return schemas;
}

const std::vector<aggengine::BarSpec>& BarSpecs() {
  static const std::vector<aggengine::BarSpec> specs = {
      Spec("trade_minute", "trade", 60 * kNsPerSecond,
           {{"open", "first price"},
            {"high", "max price"},
            {"low", "min price"},
            {"close", "last price"},
            {"volume", "sum size"},
            {"trades", "count"}}),
      Spec("quote_second", "quote", kNsPerSecond, {{"bid", "last bid"}, {"quotes", "count"}})};
  return specs;
}

const std::vector<Schema>& AllSchemas() {
  static const std::vector<Schema> all = [] {
    std::vector<Schema> schemas = SourceSchemas();
    for (const aggengine::BarSpec& spec : BarSpecs()) {
      const auto source = std::ranges::find(SourceSchemas(), spec.table, &Schema::table);
      schemas.push_back(*aggengine::SchemaOf(spec, *source));
    }
    return schemas;
  }();
  return all;
}

const std::vector<Schema>& SchemasWithNews() {
  static const std::vector<Schema> all = [] {
    std::vector<Schema> schemas = AllSchemas();
    schemas.push_back(*ParseSchema("news", "time p, sym s, size j, feed s, n j"));
    return schemas;
  }();
  return all;
}

const std::vector<Schema>& KnownSchemas() {
  static const std::vector<Schema> all = [] {
    std::vector<Schema> schemas = SchemasWithNews();
    schemas.push_back(*ParseSchema(std::string(kNoteTable), "time p, sym s, text *, feed s, n j"));
    for (feed::MappedTable& table : ExchangeTables()) schemas.push_back(std::move(table.schema));
    return schemas;
  }();
  return all;
}

std::vector<feed::MappedTable> ExchangeTables() {
  std::vector<Schema> wanted;
  for (Schema& schema : feed::MarketSchemas()) {
    const bool is_wanted =
        schema.table == "order" || schema.table == "trade" || schema.table == "gap";
    if (is_wanted) wanted.push_back(std::move(schema));
  }
  const feed::TableChange rename = {.of = "trade", .name = "deal"};
  return *feed::MapTables(wanted, std::span(&rename, 1));
}

const Schema* FindSchema(std::string_view table) {
  const auto found = std::ranges::find(KnownSchemas(), table, &Schema::table);
  return found == KnownSchemas().end() ? nullptr : &*found;
}

FeedPlan PlanRows(Random& random, int64_t rows, int64_t begin_ns, int64_t end_ns, int64_t roll_ns,
                  const std::vector<Silence>& silences) {
  constexpr int64_t kAroundRollNs = 150'000'000;  // The day's end is looked for every 100 ms.
  std::vector<int64_t> due;
  while (static_cast<int64_t>(due.size()) < rows) {
    // A burst of rows.
    const bool at_roll = random.OneIn(4);
    const int64_t at_ns =
        at_roll ? roll_ns + random.Between(-kAroundRollNs, 0) : random.Between(begin_ns, end_ns);
    const int64_t width_ns =
        random.OneIn(3) ? 0 : random.Between(0, at_roll ? 2 * kAroundRollNs : kNsPerSecond);
    // Times of bars' edges: whole seconds.
    const int64_t step_ns = random.OneIn(4) ? kNsPerSecond : 1;
    for (int64_t n = random.Between(1, 40); n > 0; --n) {
      const int64_t due_ns = at_ns + random.Between(0, width_ns);
      due.push_back(std::clamp(due_ns / step_ns * step_ns, begin_ns, end_ns));
    }
  }
  for (const Silence& silence : silences) {
    for (int64_t& due_ns : due) {
      const int64_t in_ns = due_ns - silence.begin_ns;
      if (in_ns < 0 || due_ns >= silence.end_ns) continue;
      due_ns = silence.begin_ns + in_ns % silence.burst_ns;
    }
  }
  std::ranges::sort(due);
  FeedPlan plan = {{"trade", {}}, {"quote", {}}};
  const auto draw_symbol = [&random, day = roll_ns / kNsPerDay] {
    return random.OneIn(10) ? fmt::format("LISTED.{}.{}", day, random.Below(3))
                            : std::string(kSymbols[random.Below(std::size(kSymbols))]);
  };
  for (const int64_t due_ns : due) {
    plan[random.OneIn(3) ? "trade" : "quote"].push_back(
        {due_ns, draw_symbol(), static_cast<double>(random.Between(1, 1000)) / 4,
         random.Between(1, 500)});
  }
  return plan;
}

std::string TextOf(std::string_view table, std::string_view feed, size_t n, const PlannedRow& row) {
  if (table == "trade") {
    return fmt::format("{}|{}|{}|{}|{}|{}", row.due_ns, row.sym, row.price, row.size, feed, n);
  }
  if (table == kNoteTable) {
    return fmt::format("{}|{}|{}|{}|{}", row.due_ns, row.sym, TextOfNote(NoteOf(n)), feed, n);
  }
  if (table == "news") {
    return fmt::format("{}|{}|{}|{}|{}", row.due_ns, row.sym, row.size, feed, n);
  }
  return fmt::format("{}|{}|{}|{}|{}|{}", row.due_ns, row.sym, row.price, row.price + 0.25, feed,
                     n);
}

TableTexts AsStored(TableTexts tables) {
  constexpr size_t kText = 2, kNumber = 4;  // Columns.
  const auto notes = tables.find(kNoteTable);
  if (notes == tables.end()) return tables;
  for (std::string& row : notes->second) {
    const auto n = static_cast<size_t>(std::stoll(Cell(row, kNumber)));
    const std::string text = Cell(row, kText);
    if (text != TextOfNote(NoteOf(n))) continue;
    // The time before it may have the same digits.
    row.replace(row.find(fmt::format("|{}|", text)) + 1, text.size(), TextOfNote(StoredNoteOf(n)));
  }
  return tables;
}

void AppendTexts(const Schema& schema, const BatchView& batch, RowTexts& texts) {
  const size_t begin = texts.size();
  texts.resize(begin + batch.rows);
  for (size_t column = 0; column < batch.columns.size(); ++column) {
    const ColumnView& view = batch.columns[column];
    const std::byte* at = view.data.data();
    for (size_t row = 0; row < batch.rows; ++row) {
      if (schema.columns[column].type == Type::kSymbol) {
        const std::string_view name(reinterpret_cast<const char*>(at));
        AppendCell(texts[begin + row], name);
        at += name.size() + 1;
      } else if (schema.columns[column].type == Type::kList) {
        const size_t bytes = *EncodedBytes({at, view.data.data() + view.data.size()});
        AppendCell(texts[begin + row], TextOfNote(std::span(at, bytes)));
        at += bytes;
      } else {
        AppendCell(texts[begin + row], CellText(view.type, at));
        at += WidthOf(view.type);
      }
    }
  }
}

void AppendTexts(const Schema& schema, const Value& table, RowTexts& texts) {
  const size_t begin = texts.size(), rows = table.count();
  texts.resize(begin + rows);
  for (const ColumnSpec& column : schema.columns) {
    const Value& values = *table.FindColumn(column.name);
    for (size_t row = 0; row < rows; ++row) {
      AppendCell(texts[begin + row], CellText(column.type, values, row));
    }
  }
}

RowTexts TextsOf(const Snapshot& snapshot) {
  RowTexts texts(snapshot.rows());
  const std::vector<ColumnSpec>& columns = snapshot.schema().columns;
  for (size_t column = 0; column < columns.size(); ++column) {
    size_t row = 0;
    for (; columns[column].type == Type::kList && row < texts.size(); ++row) {
      AppendCell(texts[row], TextOfNote(snapshot.Item(column, row)));
    }
    if (columns[column].type == Type::kList) continue;
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      const std::span<const std::byte> bytes = snapshot.ChunkBytes(column, chunk);
      const bool is_symbol = columns[column].type == Type::kSymbol;
      const size_t width = is_symbol ? sizeof(SymbolId) : WidthOf(columns[column].type);
      for (size_t at = 0; at < bytes.size(); at += width) {
        AppendCell(texts[row++], is_symbol ? std::string(snapshot.table().symbols().NameOf(
                                                 LoadLittle<SymbolId>(bytes.data() + at)))
                                           : CellText(columns[column].type, bytes.data() + at));
      }
    }
  }
  return texts;
}

absl::StatusOr<TableTexts> TextsOfLog(const std::string& path) {
  TableTexts texts;
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<tplog::TplogReader> reader,
                      tplog::TplogReader::Open(path));
  wire::UpdDecoder decoder;
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::TplogMessage> message, reader->Next());
    if (!message) break;
    const Schema* const schema =
        FindSchema(wire::PeekUpdTable(message->body).value_or(std::string_view()));
    if (schema == nullptr) return DataLoss("{}: message {}: no table", path, message->seq);
    wire::UpdView upd;
    TS_RETURN_IF_ERROR(decoder.Decode(message->body, &upd, schema->columns.size()));
    TS_RETURN_IF_ERROR(CheckBatch(*schema, upd.batch));
    AppendTexts(*schema, upd.batch, texts[schema->table]);
  }
  if (reader->torn_bytes() > 0) return DataLoss("{}: {} torn bytes", path, reader->torn_bytes());
  return texts;
}

absl::Status CheckPartition(const std::string& database, int32_t date) {
  WorkerPool none(0);
  const std::string folder = fmt::format("{}/{}", database, FormatDate(date));
  TS_ASSIGN_OR_RETURN(const disk::DatabaseCheck check,
                      disk::CheckPartition(database, folder, none, [] { return false; }));
  if (check.unchecksummed_tables > 0) return DataLoss("{}: tables without checksums", folder);
  for (const std::vector<disk::Finding>& findings : {check.findings, check.warnings}) {
    if (!findings.empty()) return DataLoss("{}: {}", findings[0].path, findings[0].what);
  }
  return absl::OkStatus();
}

absl::StatusOr<TableTexts> TextsOfPartition(const std::string& database, int32_t date) {
  TableTexts texts;
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> opened,
                      disk::Database::Open(database));
  if (!opened->problems().empty()) return DataLoss("{}", opened->problems().front());
  size_t number = 0;
  while (number < opened->partitions().size() && opened->partitions()[number].value != date) {
    ++number;
  }
  if (number == opened->partitions().size()) {
    return NotFound("{}: no partition {}", database, FormatDate(date));
  }
  for (const std::unique_ptr<disk::PartitionedTable>& table : opened->partitioned_tables()) {
    TS_ASSIGN_OR_RETURN(const disk::SplayedTable* const part, table->In(number));
    if (part == nullptr) continue;
    const Schema* const schema = FindSchema(table->name());
    if (schema == nullptr) return DataLoss("{}: table {}", database, table->name());
    TS_ASSIGN_OR_RETURN(const uint64_t rows, part->Rows());
    RowTexts& of_table = texts[table->name()];
    of_table.resize(rows);
    for (const ColumnSpec& column : schema->columns) {
      const int index = part->Find(column.name);
      if (index < 0) return DataLoss("{}: no column {}", part->directory(), column.name);
      TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::ColumnFile> file,
                          part->Column(static_cast<size_t>(index)));
      if (column.name == "sym" && file->attribute() != Attribute::kParted) {
        return DataLoss("{}: sym is not parted", part->directory());
      }
      TS_ASSIGN_OR_RETURN(const Value values, file->AllRows());
      for (size_t row = 0; row < rows; ++row) {
        AppendCell(of_table[row], CellText(column.type, values, row));
      }
    }
  }
  return texts;
}

std::string Cell(const std::string& text, size_t column) {
  size_t begin = 0;
  for (; column > 0; --column) begin = text.find('|', begin) + 1;
  return text.substr(begin, text.find('|', begin) - begin);
}

Value EncodeRows(std::string_view table, std::string_view feed, const std::vector<PlannedRow>& rows,
                 size_t begin, size_t end) {
  std::vector<int64_t> times, sizes, numbers;
  std::vector<double> prices, asks;
  std::vector<Value> notes;
  SymbolVector names, feeds;
  for (size_t n = begin; n < end; ++n) {
    times.push_back(rows[n].due_ns);
    names.push_back(rows[n].sym);
    prices.push_back(rows[n].price);
    asks.push_back(rows[n].price + 0.25);
    sizes.push_back(rows[n].size);
    notes.push_back(table == kNoteTable ? NoteOf(n) : Value());
    feeds.push_back(feed);
    numbers.push_back(static_cast<int64_t>(n));
  }
  std::vector<Value> columns;
  columns.push_back(Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)));
  columns.push_back(Value::Symbols(std::move(names)));
  if (table == "trade" || table == "quote") {
    columns.push_back(Value::Vector(Type::kFloat, std::span<const double>(prices)));
  }
  if (table == "quote") {
    columns.push_back(Value::Vector(Type::kFloat, std::span<const double>(asks)));
  } else if (table == kNoteTable) {
    columns.push_back(Value::List(std::move(notes)));
  } else {
    columns.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(sizes)));
  }
  columns.push_back(Value::Symbols(std::move(feeds)));
  columns.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(numbers)));
  return Value::List(std::move(columns));
}

namespace {

class PlannedSource final : public feed::Source {
 public:
  PlannedSource(const FeedPlan& plan, std::string name, int64_t batch_rows)
      : plan_(plan), name_(std::move(name)), batch_rows_(batch_rows) {
    for (const auto& [table, rows] : plan_) {
      tables_.push_back(table);
      next_[table] = 0;
    }
  }

  void Start(int64_t) override {}
  absl::StatusOr<const feed::FeedBatch*> Next(int64_t now_ns) override {
    const std::string* const table = NextTable();
    if (table == nullptr) return nullptr;
    const std::vector<PlannedRow>& rows = plan_.find(*table)->second;
    size_t& next = next_[*table];
    size_t end = next;
    const size_t end_max = std::min(rows.size(), next + static_cast<size_t>(batch_rows_));
    while (end < end_max && rows[end].due_ns <= now_ns) ++end;
    if (end == next) return nullptr;
    data_.clear();
    wire::Encode(EncodeRows(*table, name_, rows, next, end), data_);
    batch_ = {.table = *table,
              .first_row = static_cast<int64_t>(next),
              .rows = static_cast<int64_t>(end - next),
              .due_ns = rows[end - 1].due_ns,
              .data = data_};
    next = end;
    return &batch_;
  }
  int64_t next_due_ns() const override {
    const std::string* const table = NextTable();
    return table == nullptr ? feed::kNeverDue : plan_.find(*table)->second[next_.at(*table)].due_ns;
  }
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override {
    for (auto& [table, next] : next_) {
      const auto done = rows_done.find(table);
      next = done == rows_done.end() ? 0 : static_cast<size_t>(done->second);
      if (next > plan_.find(table)->second.size()) {
        return DataLoss("{} has {} rows of {} more than were sent", name_, next, table);
      }
    }
    return absl::OkStatus();
  }
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override { return "planned rows"; }

 private:
  // Returns the table whose next row is due first; nullptr at the end.
  const std::string* NextTable() const {
    const std::string* first = nullptr;
    int64_t first_ns = 0;
    for (const std::string& table : tables_) {
      const std::vector<PlannedRow>& rows = plan_.find(table)->second;
      const size_t next = next_.at(table);
      if (next == rows.size() || (first != nullptr && rows[next].due_ns >= first_ns)) continue;
      first = &table;
      first_ns = rows[next].due_ns;
    }
    return first;
  }

  const FeedPlan& plan_;
  const std::string name_;
  const int64_t batch_rows_;
  std::vector<std::string> tables_;
  std::map<std::string, size_t, std::less<>> next_;
  ByteBuffer data_;
  feed::FeedBatch batch_;
};

}  // namespace

std::unique_ptr<feed::Source> MakeSource(const FeedPlan& plan, std::string name,
                                         int64_t batch_rows) {
  return std::make_unique<PlannedSource>(plan, std::move(name), batch_rows);
}

}  // namespace tickstack::simulate
