#include "bench/peers/captured_day.h"

#include <array>
#include <cstring>
#include <span>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"
#include "feed/sources/sim_source.h"
#include "table/schema.h"
#include "tplog/tplog_writer.h"
#include "wire/codec.h"
#include "wire/upd.h"
#include "wire/upd_encoder.h"

namespace tickstack::bench {
namespace {

constexpr int64_t kEventsPerTrade = 11;
constexpr int64_t kQuotesPerTrade = 10;
// Every batch is full: none has a single row, which would be atoms on the wire.
constexpr int64_t kBatchQuotes = 2'400;

// Truncates the times of an upd's x: its first column.
void CutTimes(ByteBuffer& x, int64_t rows) {
  std::byte* at = x.data() + 2 * wire::kVectorHeadBytes;
  for (int64_t i = 0; i < rows; ++i, at += sizeof(int64_t)) {
    int64_t time_ns;
    std::memcpy(&time_ns, at, sizeof(time_ns));
    time_ns -= time_ns % kStampNs;
    std::memcpy(at, &time_ns, sizeof(time_ns));
  }
}

// The log of the day, with one message per block. Its upds are tables instead of bare columns, so
// that an RDB without schemas learns the columns' names.
class Log {
 public:
  absl::Status Open(const std::string& path) {
    TS_ASSIGN_OR_RETURN(writer_, tplog::TplogWriter::Open(path, {}));
    return absl::OkStatus();
  }

  // `columns` is the encoded list of columns.
  absl::Status Append(const Schema& schema, int64_t rows, std::span<const std::byte> columns) {
    if (writer_ == nullptr) return absl::OkStatus();
    const std::array<std::span<const std::byte>, 2> segments = {HeadOf(schema), columns};
    const tplog::TplogBlock::Rows counted = {schema.table, static_cast<uint32_t>(rows)};
    tplog::TplogBlock block;
    block.segments = segments;
    block.messages = 1;
    block.rows = {&counted, 1};
    return writer_->Append(block);
  }

  absl::Status Close() { return writer_ == nullptr ? absl::OkStatus() : writer_->Close(); }

 private:
  // Returns what comes before the columns in (`upd; table; ([] name: column; ...)).
  std::span<const std::byte> HeadOf(const Schema& schema) {
    static constexpr std::array<uint8_t, 6> kListOfThree = {0, 0, 3, 0, 0, 0};
    static constexpr std::array<uint8_t, 3> kTableOfDict = {98, 0, 99};
    SymbolVector names;
    for (const ColumnSpec& column : schema.columns) names.push_back(column.name);
    head_.clear();
    head_.Append(std::as_bytes(std::span(kListOfThree)));
    wire::Encode(Value::Symbol("upd"), head_);
    wire::Encode(Value::Symbol(schema.table), head_);
    head_.Append(std::as_bytes(std::span(kTableOfDict)));
    wire::Encode(Value::Symbols(std::move(names)), head_);
    return head_;
  }

  ByteBuffer head_;
  std::unique_ptr<tplog::TplogWriter> writer_;
};

}  // namespace

CapturedDay::CapturedDay() : tier_(mem::MakeDramTier("dram")) {}

absl::StatusOr<std::unique_ptr<CapturedDay>> CapturedDay::Make(const CapturedDayOptions& options) {
  if (options.quotes <= 0 || options.quotes % kBatchQuotes != 0) {
    return InvalidArgument("quotes {}: expected a multiple of {}", options.quotes, kBatchQuotes);
  }
  std::unique_ptr<CapturedDay> day(new CapturedDay);
  TS_RETURN_IF_ERROR(day->Fill(options));
  return day;
}

absl::Status CapturedDay::Fill(const CapturedDayOptions& options) {
  const std::vector<Schema> schemas = DefaultSchemas();
  const TablePlacement placement{tier_.get(), {}, nullptr};
  TS_ASSIGN_OR_RETURN(trade_, Table::Create(schemas[0], &symbols_, placement));
  TS_ASSIGN_OR_RETURN(quote_, Table::Create(schemas[1], &symbols_, placement));

  feed::SimOptions source_options;
  source_options.batch_rows = kBatchQuotes;
  source_options.symbols = options.symbols;
  source_options.seed = options.seed;
  source_options.rows = options.quotes / kQuotesPerTrade * kEventsPerTrade;
  constexpr int64_t kMarketDayS = kMarketDayNs / kNsPerSecond;
  source_options.rate = static_cast<double>(source_options.rows) / static_cast<double>(kMarketDayS);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<feed::Source> source, source_options.Open());
  Log log;
  if (!options.log_path.empty()) TS_RETURN_IF_ERROR(log.Open(options.log_path));

  source->Start(kMarketOpenNs);
  wire::UpdDecoder decoder;
  ByteBuffer x;
  while (true) {
    // All of the day is due at its end.
    TS_ASSIGN_OR_RETURN(const feed::FeedBatch* const batch, source->Next(NowNs()));
    if (batch == nullptr) break;
    x.clear();
    x.Append(batch->data);
    CutTimes(x, batch->rows);
    Table& table = batch->table == "trade" ? *trade_ : *quote_;
    wire::RowsView rows;
    TS_RETURN_IF_ERROR(decoder.DecodeX(x, &rows, table.schema().columns.size()));
    TS_RETURN_IF_ERROR(table.Append(rows.batch));
    TS_RETURN_IF_ERROR(log.Append(table.schema(), batch->rows, x));
  }
  return log.Close();
}

absl::Status CapturedDay::WriteTable(const std::string& directory, const Table& table) const {
  const Snapshot snapshot = table.TakeSnapshot();
  for (size_t column = 0; column < table.schema().columns.size(); ++column) {
    TS_ASSIGN_OR_RETURN(File file,
                        File::OpenOrCreate(fmt::format("{}/{}.{}", directory, table.schema().table,
                                                       table.schema().columns[column].name)));
    TS_RETURN_IF_ERROR(file.Truncate(0));
    uint64_t offset = 0;
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      const std::span<const std::byte> bytes = snapshot.ChunkBytes(column, chunk);
      TS_RETURN_IF_ERROR(file.WriteAt(offset, bytes));
      offset += bytes.size();
    }
  }
  return absl::OkStatus();
}

absl::Status CapturedDay::WriteColumns(const std::string& directory) const {
  TS_RETURN_IF_ERROR(WriteTable(directory, *trade_));
  TS_RETURN_IF_ERROR(WriteTable(directory, *quote_));
  std::string names;
  for (SymbolId id = 0; id < symbols_.size(); ++id) {
    names.append(symbols_.NameOf(id));
    names.push_back('\n');
  }
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(directory + "/symbols"));
  TS_RETURN_IF_ERROR(file.Truncate(0));
  return file.WriteAt(0, AsBytes(names));
}

std::optional<Snapshot> CapturedDay::FindTable(std::string_view name) {
  if (name == "trade") return trade_->TakeSnapshot();
  if (name == "quote") return quote_->TakeSnapshot();
  return std::nullopt;
}

}  // namespace tickstack::bench
