#include "tickerplant/chained/upstream_rows.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "tickerplant/row_ends.h"
#include "wire/upd_encoder.h"

namespace tickstack::tickerplant {
namespace {

constexpr std::string_view kNameBegin = ".upstream@";

// Appends the chosen rows of a column, back to back. `ends` is empty if all rows have one width.
void AppendRows(const ColumnView& column, std::span<const size_t> chosen, ByteBuffer& out) {
  const size_t width = WidthOf(column.type);
  const std::vector<size_t> ends =
      width == 0 ? EndsOf(column.type, column.data, column.rows) : std::vector<size_t>();
  for (const size_t row : chosen) {
    if (width > 0) {
      out.Append(column.data.subspan(row * width, width));
      continue;
    }
    const size_t begin = row == 0 ? 0 : ends[row - 1];
    out.Append(column.data.subspan(begin, ends[row] - begin));
  }
}

}  // namespace

absl::StatusOr<UpstreamRows> UpstreamRows::Create(std::span<const Schema> schemas,
                                                  std::span<const std::string> symbols,
                                                  bool all_tables) {
  UpstreamRows rows(schemas);
  rows.all_tables_ = all_tables;
  for (const std::string& symbol : symbols) rows.symbols_.emplace(symbol);
  for (const Schema& schema : schemas) {
    if (symbols.empty()) break;
    const int sym = schema.Find("sym");
    if (sym >= 0 && schema.columns[static_cast<size_t>(sym)].type == Type::kSymbol) continue;
    return InvalidArgument(
        "symbols: table {} has no symbol column sym, by which its rows could be selected: leave it "
        "out of `tables`",
        schema.table);
  }
  return rows;
}

// Returns the rows that have one of the symbols. The batch must fit the schema.
std::vector<size_t> UpstreamRows::ChosenOf(const Schema& schema, const BatchView& batch) const {
  std::vector<size_t> chosen;
  const auto sym = static_cast<size_t>(schema.Find("sym"));
  const ColumnView& names = batch.columns[sym];
  const std::vector<size_t> ends = EndsOf(Type::kSymbol, names.data, names.rows);
  for (size_t row = 0, begin = 0; row < names.rows; begin = ends[row++]) {
    if (symbols_.contains(AsText(names.data.subspan(begin, ends[row] - begin - 1)))) {
      chosen.push_back(row);
    }
  }
  return chosen;
}

absl::StatusOr<std::optional<UpstreamRows::Taken>> UpstreamRows::Take(
    std::span<const std::byte> message) {
  const std::optional<std::string_view> name = wire::PeekUpdTable(message);
  if (!name) return std::nullopt;
  const auto schema = std::ranges::find(schemas_, *name, &Schema::table);
  if (schema == schemas_.end()) {
    if (!all_tables_) return std::nullopt;
    return InvalidArgument("table {} is missing here: add it to [tables]", Printable(*name));
  }
  wire::UpdView upd;
  decoder_.NameColumns(&*schema);
  TS_RETURN_IF_ERROR(decoder_.Decode(message, &upd, schema->columns.size()));
  if (upd.batch.columns.size() != schema->columns.size()) {
    return InvalidArgument("length: {}: {} columns, expected {}", schema->table,
                           upd.batch.columns.size(), schema->columns.size());
  }
  const size_t rows = upd.batch.rows;
  if (rows == 0) return std::nullopt;
  uint64_t& taken_rows = rows_.try_emplace(schema->table, 0).first->second;
  Taken taken{static_cast<size_t>(schema - schemas_.begin()), static_cast<int64_t>(taken_rows),
              rows, upd.x, nullptr};
  if (symbols_.empty()) {
    taken_rows += rows;
    return taken;
  }
  if (upd.form == wire::UpdForm::kTable) {
    return InvalidArgument("mismatch: {}: rows are a table, expected a list of columns",
                           schema->table);
  }
  TS_RETURN_IF_ERROR(CheckBatch(*schema, upd.batch));
  const std::vector<size_t> chosen = ChosenOf(*schema, upd.batch);
  taken_rows += chosen.size();
  taken.rows = chosen.size();
  if (chosen.empty()) return std::nullopt;
  if (chosen.size() == rows) return taken;
  auto bytes = std::make_shared<ByteBuffer>();
  wire::UpdEncoder x(*bytes);
  x.Columns(upd.batch.columns.size());
  for (const ColumnView& column : upd.batch.columns) {
    x.Column(column.type, chosen.size());
    AppendRows(column, chosen, *bytes);
  }
  taken.x = bytes->span();
  taken.owner = std::move(bytes);
  return taken;
}

std::string UpstreamName(int32_t date, std::span<const std::string> symbols) {
  if (symbols.empty()) return fmt::format("{}{}", kNameBegin, FormatDate(date));
  std::vector<std::string> sorted(symbols.begin(), symbols.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return fmt::format("{}{}.{:08x}", kNameBegin, FormatDate(date),
                     Crc32c(AsBytes(fmt::format("{}", fmt::join(sorted, "\n")))));
}

bool IsUpstreamName(std::string_view feed) { return feed.starts_with(kNameBegin); }

}  // namespace tickstack::tickerplant
