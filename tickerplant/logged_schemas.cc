#include "tickerplant/logged_schemas.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/status.h"
#include "base/string_map.h"
#include "wire/tplog_index.h"
#include "wire/tplog_reader.h"
#include "wire/upd.h"
#include "wire/upd_rows.h"

namespace tickstack::tickerplant {
namespace {

struct Messages {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Returns the last block that has rows of each table.
StringMap<Messages> LastBlocks(const std::string& log_path) {
  StringMap<Messages> last;
  absl::StatusOr<wire::TplogIndexReader> index =
      wire::TplogIndexReader::Open(wire::TplogIndexPath(log_path));
  while (index.ok()) {
    const auto record = index->Next();
    if (!record.ok() || !record->has_value()) break;
    if ((*record)->kind == wire::RecordKind::kProgress) continue;
    const wire::IndexBlock& block = (*record)->block;
    for (const wire::IndexRows& rows : block.rows) {
      if (rows.rows == 0) continue;
      last[index->names().tables.NameOf(rows.table)] = {block.first_seq, block.end_seq()};
    }
  }
  return last;
}

absl::Status CheckTable(wire::TplogReader& log, const std::string& log_path, const Schema& schema,
                        Messages messages) {
  wire::UpdDecoder decoder;
  wire::UpdRows rows;
  if (!log.Seek(messages.begin).ok()) return absl::OkStatus();
  for (uint64_t seq = messages.begin; seq < messages.end; ++seq) {
    const auto message = log.Next();
    if (!message.ok() || !message->has_value()) return absl::OkStatus();
    wire::UpdView upd;
    if (!decoder.Decode((*message)->body, &upd, schema.columns.size()).ok()) continue;
    if (upd.table != schema.table) continue;
    const absl::StatusOr<BatchView> batch = rows.Arrange(schema, upd);
    const absl::Status fits = batch.ok() ? CheckBatch(schema, *batch) : batch.status();
    if (fits.ok()) continue;
    return FailedPrecondition(
        "{}: message {} has rows of {} that do not fit its schema \"{}\": {}; within a day the "
        "columns of a table that has rows cannot change: put the schema back, end the day "
        "(`tickstack eod`), then change it",
        log_path, seq, schema.table, FormatSchema(schema), Message(fits));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLoggedSchemas(const std::string& log_path, std::span<const Schema> schemas) {
  const absl::StatusOr<std::unique_ptr<wire::TplogReader>> log = wire::TplogReader::Open(log_path);
  if (!log.ok()) return absl::OkStatus();
  const StringMap<Messages> blocks = LastBlocks(log_path);
  for (const Schema& schema : schemas) {
    const auto block = blocks.find(schema.table);
    if (block == blocks.end()) continue;
    TS_RETURN_IF_ERROR(CheckTable(**log, log_path, schema, block->second));
  }
  return absl::OkStatus();
}

}  // namespace tickstack::tickerplant
