#include "aggengine/remade_bars.h"

#include <algorithm>
#include <utility>

#include "aggengine/bar_source.h"
#include "aggengine/bars.h"
#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/row_reader.h"
#include "wire/upd.h"

namespace tickstack::aggengine {
namespace {

constexpr size_t kBatchRows = 32'768;

absl::Status TakeAll(const Snapshot& ticks, BarSource& source) {
  const std::unique_ptr<disk::RowReader> rows = disk::ReadRows(ticks);
  for (uint64_t row = 0; row < rows->rows(); row += kBatchRows) {
    TS_ASSIGN_OR_RETURN(const BatchView batch,
                        rows->Read(row, std::min(row + kBatchRows, rows->rows())));
    TS_RETURN_IF_ERROR(source.Add(batch));
    const BarSource::Taken taken = source.TakeAdded();
    if (taken.refused + taken.forgotten == 0) continue;
    return ResourceExhausted("{}: memory does not hold the bars of {} rows", source.schema().table,
                             taken.refused + taken.forgotten);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Table>> TableOf(Bars& bars, SymbolTable* symbols, mem::Tier* tier) {
  TS_ASSIGN_OR_RETURN(std::shared_ptr<Table> table,
                      Table::Create(bars.schema(), symbols, {tier, {}, nullptr}));
  wire::UpdDecoder decoder;
  while (bars.has_changes()) {
    ByteBuffer columns;
    std::vector<BarRecord*> records;
    if (bars.TakeChangedRows(kBatchRows, *symbols, columns, records) == 0) continue;
    wire::RowsView rows;
    TS_RETURN_IF_ERROR(decoder.DecodeX(columns, &rows, bars.schema().columns.size()));
    TS_RETURN_IF_ERROR(table->Append(rows.batch));
  }
  return table;
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<Table>>> RemakeBars(std::span<const BarSpec> specs,
                                                               const Snapshot& ticks,
                                                               SymbolTable* symbols,
                                                               mem::Tier* tier) {
  BarSource source(ticks.schema(), symbols);
  std::vector<Bars*> bars;
  for (const BarSpec& spec : specs) {
    TS_RETURN_IF_ERROR(SchemaOf(spec, ticks.schema()).status());
    bars.push_back(source.AddBars(spec, tier, SIZE_MAX));
  }
  TS_RETURN_IF_ERROR(TakeAll(ticks, source));
  std::vector<std::shared_ptr<Table>> tables;
  for (Bars* const each : bars) {
    TS_ASSIGN_OR_RETURN(tables.emplace_back(), TableOf(*each, symbols, tier));
  }
  return tables;
}

}  // namespace tickstack::aggengine
