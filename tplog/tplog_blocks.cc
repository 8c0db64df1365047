#include "tplog/tplog_blocks.h"

#include <utility>

#include "base/crc32c.h"
#include "base/scramble.h"
#include "base/status.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_recovery.h"

namespace tickstack::tplog {
void LogDigest::Mix(uint64_t value) { value_ = Scramble(value_ ^ Scramble(value)); }

void LogDigest::Add(const IndexProgress& progress, const IndexDictionary& names) {
  Mix(Crc32c(AsBytes(names.feeds.NameOf(progress.feed))));
  Mix(Crc32c(AsBytes(names.tables.NameOf(progress.table))));
  Mix(progress.rows);
}

void LogDigest::Add(const IndexBlock& block, const IndexDictionary& names) {
  const bool has_feed = block.source != kSourceNone && block.source != kSourceUnknown;
  const uint32_t feed = has_feed ? Crc32c(AsBytes(names.feeds.NameOf(block.source))) : 0;
  Mix((uint64_t{block.messages} << 32) | block.bytes);
  Mix((uint64_t{block.crc} << 32) | feed);
  Mix(static_cast<uint64_t>(block.time_ns));
  for (const IndexRows& rows : block.rows) {
    Mix((uint64_t{Crc32c(AsBytes(names.tables.NameOf(rows.table)))} << 32) | rows.rows);
  }
}

absl::StatusOr<std::unique_ptr<TplogBlocks>> TplogBlocks::Open(const std::string& log_path) {
  TS_ASSIGN_OR_RETURN(File log, File::OpenForReading(log_path));
  TS_ASSIGN_OR_RETURN(TplogIndexReader index, TplogIndexReader::Open(TplogIndexPath(log_path)));
  std::unique_ptr<TplogBlocks> blocks(new TplogBlocks(std::move(log), std::move(index)));
  TS_RETURN_IF_ERROR(blocks->ReadCarried());
  return blocks;
}

TplogBlocks::TplogBlocks(File log, TplogIndexReader index)
    : log_(std::move(log)),
      index_(std::move(index)),
      log_offset_(kTplogHeaderBytes),
      index_offset_(index_.position()) {}

// The records of the rows that the log began with come before all blocks.
absl::Status TplogBlocks::ReadCarried() {
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<TplogIndexReader::Record> record, index_.Next());
    if (!record) return absl::OkStatus();
    if (record->kind != RecordKind::kProgress) {
      index_.Unread();
      return absl::OkStatus();
    }
    const IndexProgress& progress = record->progress;
    digest_.Add(progress, names());
    carried_[names().feeds.NameOf(progress.feed)][names().tables.NameOf(progress.table)] =
        progress.rows;
    index_offset_ = record->end;
  }
}

absl::StatusOr<std::optional<IndexBlock>> TplogBlocks::Next() {
  std::optional<TplogIndexReader::Record> record;
  while (true) {
    TS_ASSIGN_OR_RETURN(record, index_.Next());
    if (!record) return std::nullopt;
    // A repair left nothing of the block.
    if (record->kind != RecordKind::kCutBlock || record->block.messages > 0) break;
    index_offset_ = record->end;
  }
  if (record->kind == RecordKind::kProgress) {
    return DataLoss("{}: its index has rows of feeds after message {}", log_.path(), seq_);
  }
  if (record->block.source == kSourceUnknown) {
    index_.Unread();
    return FailedPrecondition(
        "{}: messages from {} on were indexed after they were logged, so the log cannot be copied",
        log_.path(), record->block.first_seq);
  }
  digest_.Add(record->block, names());
  seq_ = record->block.end_seq();
  log_offset_ = record->block.end_offset();
  index_offset_ = record->end;
  return std::move(record->block);
}

absl::StatusOr<ByteBuffer> TplogBlocks::BytesOf(const IndexBlock& block) const {
  ByteBuffer bytes;
  bytes.resize(block.bytes);
  TS_ASSIGN_OR_RETURN(const size_t read, log_.ReadAt(block.offset, bytes.span()));
  if (read != block.bytes || Crc32c(bytes) != block.crc) {
    return DataLoss("{}: messages from {} on at byte {} do not match their checksum", log_.path(),
                    block.first_seq, block.offset);
  }
  return bytes;
}

absl::StatusOr<std::string> CutTplog(const std::string& log_path, uint64_t seq) {
  TS_ASSIGN_OR_RETURN(File log, File::OpenOrCreate(log_path));
  TS_RETURN_IF_ERROR(log.TryLock());
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<TplogBlocks> blocks, TplogBlocks::Open(log_path));
  while (blocks->end().seq < seq) {
    TS_ASSIGN_OR_RETURN(const std::optional<IndexBlock> block, blocks->Next());
    if (!block) break;
  }
  if (blocks->end().seq != seq) {
    return InvalidArgument("{}: no block ends after message {}", log_path, seq);
  }
  TS_ASSIGN_OR_RETURN(const uint64_t log_bytes, log.Bytes());
  std::string kept;
  if (log_bytes > blocks->log_offset()) {
    TS_ASSIGN_OR_RETURN(kept, CutPath(log_path, blocks->log_offset()));
    TS_RETURN_IF_ERROR(CopyBytes(log, blocks->log_offset(), log_bytes, kept));
    TS_RETURN_IF_ERROR(log.Truncate(blocks->log_offset()));
    TS_RETURN_IF_ERROR(log.SyncData());
  }
  // The index after the log, as a byte of the log must never lack a record.
  TS_ASSIGN_OR_RETURN(File index, File::OpenOrCreate(TplogIndexPath(log_path)));
  TS_RETURN_IF_ERROR(index.Truncate(blocks->index_offset()));
  TS_RETURN_IF_ERROR(index.SyncData());
  return kept;
}

}  // namespace tickstack::tplog
