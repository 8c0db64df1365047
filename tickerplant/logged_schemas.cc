#include "tickerplant/logged_schemas.h"

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/status.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_recovery.h"
#include "tplog/tplog_scanner.h"
#include "wire/upd.h"
#include "wire/upd_rows.h"

namespace tickstack::tickerplant {
namespace {

// Returns TplogRecovery::last_blocks of a log that is not opened for writing.
NameMap<tplog::BlockPlace> LastBlocks(const std::string& log_path) {
  NameMap<tplog::BlockPlace> last;
  absl::StatusOr<tplog::TplogIndexReader> index =
      tplog::TplogIndexReader::Open(tplog::TplogIndexPath(log_path));
  while (index.ok()) {
    const auto record = index->Next();
    if (!record.ok() || !record->has_value()) break;
    if ((*record)->kind == tplog::RecordKind::kProgress) continue;
    const tplog::IndexBlock& block = (*record)->block;
    for (const tplog::IndexRows& rows : block.rows) {
      if (rows.rows == 0) continue;
      last[index->names().tables.NameOf(rows.table)] = tplog::PlaceOf(block);
    }
  }
  return last;
}

class BlockCheck {
 public:
  explicit BlockCheck(const File& log) : log_(log) {}

  absl::Status Run(const Schema& schema, const tplog::BlockPlace& block);

 private:
  absl::Status CheckMessage(const Schema& schema, uint64_t seq, std::span<const std::byte> body);

  const File& log_;
  wire::UpdDecoder decoder_;
  wire::UpdRows rows_;
};

absl::Status BlockCheck::Run(const Schema& schema, const tplog::BlockPlace& block) {
  const absl::StatusOr<uint32_t> crc = tplog::Crc32cOfFile(log_, block.offset, block.bytes);
  if (!crc.ok() || *crc != block.crc) return absl::OkStatus();
  tplog::TplogScanner scanner(log_, block.offset);
  for (uint32_t i = 0; i < block.messages; ++i) {
    const auto body = scanner.Next(block.offset + block.bytes);
    if (!body.ok() || !body->has_value()) return absl::OkStatus();
    TS_RETURN_IF_ERROR(CheckMessage(schema, block.first_seq + i, **body));
  }
  return absl::OkStatus();
}

absl::Status BlockCheck::CheckMessage(const Schema& schema, uint64_t seq,
                                      std::span<const std::byte> body) {
  wire::UpdView upd;
  if (!decoder_.Decode(body, &upd, schema.columns.size()).ok()) return absl::OkStatus();
  if (upd.table != schema.table) return absl::OkStatus();
  const absl::StatusOr<BatchView> batch = rows_.Arrange(schema, upd);
  const absl::Status fits = batch.ok() ? CheckBatch(schema, *batch) : batch.status();
  if (fits.ok()) return absl::OkStatus();
  return FailedPrecondition(
      "{}: message {} has rows of {} that do not fit its schema \"{}\": {}; within a day the "
      "columns of a table that has rows cannot change: put the schema back, end the day "
      "(`tickstack eod`), then change it",
      log_.path(), seq, schema.table, FormatSchema(schema), Message(fits));
}

}  // namespace

absl::Status CheckLoggedSchemas(const std::string& log_path,
                                const NameMap<tplog::BlockPlace>& blocks,
                                std::span<const Schema> schemas) {
  const absl::StatusOr<File> log = File::OpenForReading(log_path);
  if (!log.ok()) return absl::OkStatus();
  BlockCheck check(*log);
  for (const Schema& schema : schemas) {
    const auto block = blocks.find(schema.table);
    if (block == blocks.end()) continue;
    TS_RETURN_IF_ERROR(check.Run(schema, block->second));
  }
  return absl::OkStatus();
}

absl::Status CheckLoggedSchemas(const std::string& log_path, std::span<const Schema> schemas) {
  return CheckLoggedSchemas(log_path, LastBlocks(log_path), schemas);
}

}  // namespace tickstack::tickerplant
