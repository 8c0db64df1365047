#include "tplog/tplog_recovery.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "table/types.h"
#include "tplog/tplog_power_cut.h"

namespace tickstack::tplog {
namespace {

constexpr uint64_t kCopyBytes = uint64_t{1} << 20;

// Returns the rows by table number, as in a record. New names get records in `out`.
std::vector<IndexRows> NumberRows(const TableRows& rows, IndexDictionary& names, ByteBuffer& out) {
  std::vector<IndexRows> numbered;
  for (const auto& [table, count] : rows) {
    numbered.push_back(
        {NumberOf(NameKind::kTable, table, names, out), static_cast<uint32_t>(count)});
  }
  std::sort(numbered.begin(), numbered.end(),
            [](const IndexRows& a, const IndexRows& b) { return a.table < b.table; });
  return numbered;
}

class Recovery {
 public:
  Recovery(const std::string& path, const RecoverOptions& options)
      : path_(path), index_path_(TplogIndexPath(path)), options_(options) {}

  absl::StatusOr<RecoveredTplog> Run() {
    TS_RETURN_IF_ERROR(OpenLog());
    TS_RETURN_IF_ERROR(ReadState());
    out_.mount = options_.mount ? *options_.mount : MountId(path_);
    const bool lost_pages = out_.state.MayHaveLostPages(options_.boot, out_.mount);
    if (lost_pages || out_.state.synced.has_value()) TS_RETURN_IF_ERROR(CutLostTail(lost_pages));
    if (out_.state.synced.has_value()) TS_RETURN_IF_ERROR(WriteAgain(*out_.state.synced));
    TS_RETURN_IF_ERROR(ReadIndex());
    TS_RETURN_IF_ERROR(CheckLastBlock());
    if (torn_.has_value()) TS_RETURN_IF_ERROR(RepairTornBlock());
    TS_RETURN_IF_ERROR(CutIndex(settled_bytes_));
    TS_RETURN_IF_ERROR(IndexTheRest());
    if (changed_) TS_RETURN_IF_ERROR(Sync());
    out_.recovery.last_blocks = LastBlocks();
    out_.state.synced.reset();
    return std::move(out_);
  }

 private:
  absl::Status OpenLog();
  absl::Status CreateLog();
  absl::Status WriteHeader();
  absl::Status CreateIndex();
  absl::StatusOr<bool> IndexHasBlocks() const;
  absl::Status ReadState();
  absl::Status CutLostTail(bool lost_pages);
  absl::Status WriteAgain(const TplogState::Bytes& synced);
  absl::Status ReadIndex();
  absl::StatusOr<bool> MendIndexTail(uint64_t offset, uint64_t bytes);
  absl::Status CheckLastBlock();
  absl::Status RepairTornBlock();
  absl::Status IndexTheRest();
  absl::Status RefuseIfMore(uint64_t offset);
  absl::Status AppendBlock(const BlockCounter& counted, uint64_t offset);
  absl::Status AppendIndex(const ByteBuffer& records);
  absl::Status CutIndex(uint64_t bytes);
  absl::Status CutLog(uint64_t bytes);
  absl::Status Sync();
  void Add(const IndexBlock& block, const IndexDictionary& names);
  NameMap<BlockPlace> LastBlocks() const;

  const std::string& path_;
  const std::string index_path_;
  const RecoverOptions& options_;
  RecoveredTplog out_;
  uint64_t log_bytes_ = 0;      // Size of the log as found.
  uint64_t settled_bytes_ = 0;  // End of the index records whose blocks are complete in the log.
  bool changed_ = false;
  bool compared_ = false;           // Every block was compared with its checksum.
  std::optional<IndexBlock> last_;  // The last block that is complete in the log.
  // By table number: the last block with rows of the table; empty: none has any.
  std::vector<BlockPlace> last_with_rows_;

  // The first block that is incomplete, and the names as they were before its record.
  std::optional<TplogIndexReader::Record> torn_;
  uint32_t tables_before_torn_ = 0;
  uint32_t feeds_before_torn_ = 0;
};

absl::Status Recovery::OpenLog() {
  TS_RETURN_IF_ERROR(CreateDirectories(DirectoryOf(path_)));
  TS_ASSIGN_OR_RETURN(out_.log, File::OpenOrCreate(path_));
  TS_RETURN_IF_ERROR(out_.log.LockWithin(options_.lock_wait));
  TS_ASSIGN_OR_RETURN(log_bytes_, out_.log.Bytes());
  if (log_bytes_ < kTplogHeaderBytes) return CreateLog();
  if (log_bytes_ == kTplogHeaderBytes && !CheckTplogHeader(out_.log).ok()) return CreateLog();

  TS_RETURN_IF_ERROR(CheckTplogHeader(out_.log));
  // A sync of the header may have failed: then only the page cache has it.
  if (log_bytes_ == kTplogHeaderBytes) TS_RETURN_IF_ERROR(WriteHeader());
  TS_ASSIGN_OR_RETURN(const bool has_index, FileExists(index_path_));
  if (!has_index) {
    out_.recovery.index_created = true;
    return CreateIndex();
  }
  if (log_bytes_ > kTplogHeaderBytes || options_.carried_progress.empty()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const bool has_blocks, IndexHasBlocks());
  return has_blocks ? absl::OkStatus() : CreateIndex();
}

// What follows the progress that an index begins with counts as a block even if it is not legible:
// after a power cut, CutLostTail decides about it; otherwise ReadIndex reports it.
absl::StatusOr<bool> Recovery::IndexHasBlocks() const {
  TS_ASSIGN_OR_RETURN(TplogIndexReader index, TplogIndexReader::Open(index_path_));
  while (true) {
    const absl::StatusOr<std::optional<TplogIndexReader::Record>> record = index.Next();
    if (absl::IsDataLoss(record.status())) return true;
    TS_RETURN_IF_ERROR(record.status());
    if (!record->has_value()) return false;
    if ((*record)->kind != RecordKind::kProgress) return true;
  }
}

// Also runs if the last writer died while creating the log: then it has fewer than 8 bytes, and its
// index no blocks.
absl::Status Recovery::CreateLog() {
  ByteBuffer found;
  found.resize(log_bytes_);
  TS_RETURN_IF_ERROR(out_.log.ReadAt(0, found.span()).status());
  const bool is_header = std::equal(found.span().begin(), found.span().end(), kTplogHeader.begin());
  const bool is_zeros =
      std::ranges::all_of(found.span(), [](std::byte b) { return b == std::byte{0}; });
  if (!is_header && !is_zeros) return CheckTplogHeader(out_.log);
  TS_ASSIGN_OR_RETURN(bool has_index, FileExists(index_path_));
  if (has_index) {
    TS_ASSIGN_OR_RETURN(const bool has_blocks, IndexHasBlocks());
    if (has_blocks) {
      return DataLoss(
          "{}: is empty or missing, but {} knows of messages in it; to start a new log, remove "
          "that file as well",
          path_, index_path_);
    }
    // The log before this one may have continued since an attempt that made it.
    has_index = options_.carried_progress.empty();
  }
  if (!has_index) TS_RETURN_IF_ERROR(CreateIndex());
  TS_RETURN_IF_ERROR(WriteHeader());
  log_bytes_ = kTplogHeaderBytes;
  out_.recovery.created = true;
  return absl::OkStatus();
}

absl::Status Recovery::WriteHeader() {
  TS_RETURN_IF_ERROR(out_.log.WriteAt(0, kTplogHeader));
  TS_RETURN_IF_ERROR(out_.log.SyncData());
  return SyncDirectory(DirectoryOf(path_));
}

// Creates it under another name first, so that an index always has its header.
absl::Status Recovery::CreateIndex() {
  ByteBuffer records;
  AppendIndexHeader(records);
  if (log_bytes_ <= kTplogHeaderBytes) {
    IndexDictionary names;
    for (const auto& [feed, tables] : options_.carried_progress) {
      for (const auto& [table, rows] : tables) {
        if (std::max(feed.size(), table.size()) > kIndexNameBytesMax) {
          return InvalidArgument("{}: a name of {} bytes, at most {}", index_path_,
                                 std::max(feed.size(), table.size()), kIndexNameBytesMax);
        }
        IndexProgress progress;
        progress.feed = NumberOf(NameKind::kFeed, feed, names, records);
        progress.table = NumberOf(NameKind::kTable, table, names, records);
        progress.rows = rows;
        AppendProgressRecord(progress, records);
      }
    }
  }
  const std::string new_path = index_path_ + ".new";
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(new_path));
  TS_RETURN_IF_ERROR(file.Truncate(0));
  TS_RETURN_IF_ERROR(file.WriteAt(0, records));
  TS_RETURN_IF_ERROR(file.SyncData());
  return RenameReplacing(new_path, index_path_);
}

absl::Status Recovery::ReadState() {
  absl::StatusOr<TplogState> state = ReadTplogState(path_);
  if (state.ok()) {
    out_.state = *std::move(state);
    return absl::OkStatus();
  }
  if (!absl::IsDataLoss(state.status())) return state.status();
  // Sets the file aside, and treats the log as one that a power cut may have hit.
  const std::string state_path = TplogStatePath(path_);
  TS_ASSIGN_OR_RETURN(const std::string kept, CutPath(state_path, 0));
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(state_path));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
  if (const absl::Status copied = CopyBytes(file, 0, bytes, kept); !copied.ok()) {
    std::remove(kept.c_str());  // The disk is full: the next start tries again.
    return copied;
  }
  LogError("state of the log is not legible, kept as={} error=\"{}\"", kept,
           Message(state.status()));
  // The next start must know it, too, if this one ends before the log is repaired.
  out_.state.open = true;
  return WriteTplogState(path_, out_.state);
}

// Runs if the machine has rebooted since the last writer wrote, or the file system was mounted
// again, or a sync failed: pages that did not reach the disk may be lost then.
absl::Status Recovery::CutLostTail(bool lost_pages) {
  TS_ASSIGN_OR_RETURN(
      const LostTail tail,
      FindLostTail(out_.log, index_path_, out_.state.synced.value_or(TplogState::Bytes())));
  if (log_bytes_ > tail.log_bytes) {
    TS_ASSIGN_OR_RETURN(out_.recovery.cut_path, CutPath(path_, tail.log_bytes));
    TS_RETURN_IF_ERROR(CopyBytes(out_.log, tail.log_bytes, log_bytes_, out_.recovery.cut_path));
    out_.recovery.log_bytes_cut = log_bytes_ - tail.log_bytes;
    TS_RETURN_IF_ERROR(out_.log.Truncate(tail.log_bytes));
    TS_RETURN_IF_ERROR(out_.log.SyncData());
    log_bytes_ = tail.log_bytes;
  }
  // The index after the log: as long as it names more than the log has, the next start runs this
  // again.
  TS_ASSIGN_OR_RETURN(File index, File::OpenOrCreate(index_path_));
  TS_ASSIGN_OR_RETURN(const uint64_t index_bytes, index.Bytes());
  if (index_bytes > tail.index_bytes) {
    TS_ASSIGN_OR_RETURN(const std::string kept, CutPath(index_path_, tail.index_bytes));
    TS_RETURN_IF_ERROR(CopyBytes(index, tail.index_bytes, index_bytes, kept));
    out_.recovery.index_bytes_cut = index_bytes - tail.index_bytes;
    TS_RETURN_IF_ERROR(index.Truncate(tail.index_bytes));
    TS_RETURN_IF_ERROR(index.SyncData());
  }
  compared_ = true;
  out_.recovery.power_cut = lost_pages;
  out_.recovery.sync_failed = out_.state.synced.has_value();
  out_.recovery.messages_not_logged = tail.messages_lost;
  out_.recovery.messages_damaged = tail.messages_damaged;
  if (lost_pages || tail.messages_lost > 0 || out_.recovery.log_bytes_cut > 0) {
    out_.state.cuts.push_back({tail.messages, SystemClock::Instance().NowNs()});
  }
  return absl::OkStatus();
}

// The kernel keeps pages that it failed to write until it needs their memory, but does not try to
// write them again. So what can still be read is written once more.
absl::Status Recovery::WriteAgain(const TplogState::Bytes& synced) {
  TS_ASSIGN_OR_RETURN(File index, File::OpenOrCreate(index_path_));
  TS_ASSIGN_OR_RETURN(const uint64_t index_bytes, index.Bytes());
  if (synced.index < index_bytes) {
    TS_RETURN_IF_ERROR(CopyRange(index, synced.index, index_bytes, index, synced.index));
  }
  if (synced.log < log_bytes_) {
    TS_RETURN_IF_ERROR(CopyRange(out_.log, synced.log, log_bytes_, out_.log, synced.log));
    out_.recovery.log_bytes_written_again = log_bytes_ - synced.log;
  }
  changed_ = true;
  return absl::OkStatus();
}

absl::Status Recovery::Sync() {
  absl::Status status = out_.index.SyncData();
  if (status.ok()) status = out_.log.SyncData();
  if (!status.ok()) {
    out_.state.open = true;
    out_.state.boot = options_.boot;
    out_.state.mount = out_.mount;
    NoteFailedSync(path_, {}, out_.state);
  }
  return status;
}

void Recovery::Add(const IndexBlock& block, const IndexDictionary& names) {
  AddBlock(block, names, out_.totals);
  for (const IndexRows& rows : block.rows) {
    if (rows.rows == 0) continue;
    if (rows.table >= last_with_rows_.size()) last_with_rows_.resize(rows.table + 1);
    last_with_rows_[rows.table] = PlaceOf(block);
  }
}

NameMap<BlockPlace> Recovery::LastBlocks() const {
  NameMap<BlockPlace> blocks;
  for (uint32_t table = 0; table < last_with_rows_.size(); ++table) {
    const BlockPlace& block = last_with_rows_[table];
    if (block.bytes > 0) blocks[out_.names.tables.NameOf(table)] = block;
  }
  return blocks;
}

absl::Status Recovery::ReadIndex() {
  TS_ASSIGN_OR_RETURN(TplogIndexReader index, TplogIndexReader::Open(index_path_));
  TS_ASSIGN_OR_RETURN(out_.index, File::OpenOrCreate(index_path_));
  out_.totals.log_bytes = kTplogHeaderBytes;
  settled_bytes_ = kIndexHeaderBytes;
  while (true) {
    tables_before_torn_ = index.names().tables.next_number();
    feeds_before_torn_ = index.names().feeds.next_number();
    absl::StatusOr<std::optional<TplogIndexReader::Record>> read = index.Next();
    TS_RETURN_IF_ERROR(read.status());
    std::optional<TplogIndexReader::Record>& record = *read;
    if (!record.has_value()) {
      if (index.torn_bytes() == 0) break;
      TS_ASSIGN_OR_RETURN(const bool mended, MendIndexTail(index.position(), index.torn_bytes()));
      if (!mended) break;
      continue;
    }
    if (record->kind != RecordKind::kProgress && record->block.end_offset() > log_bytes_) {
      torn_ = std::move(record);
      break;
    }
    settled_bytes_ = record->end;
    if (record->kind == RecordKind::kProgress) {
      AddProgress(record->progress, index.names(), out_.totals);
    } else {
      Add(record->block, index.names());
      last_ = std::move(record->block);
    }
  }
  out_.names = index.names();
  TS_ASSIGN_OR_RETURN(out_.index_bytes, out_.index.Bytes());
  if (!torn_.has_value()) return absl::OkStatus();

  // Nothing that follows the first missing block is in the log either: only count it.
  out_.recovery.messages_not_logged = torn_->block.messages;
  for (auto next = index.Next(); next.ok() && next->has_value(); next = index.Next()) {
    if ((*next)->kind != RecordKind::kProgress) {
      out_.recovery.messages_not_logged += (*next)->block.messages;
    }
  }
  return absl::OkStatus();
}

// A record at the end is torn, or one of its bits was flipped. Cut off, it would take the progress
// of a feed with it, which then sends rows that are logged once more; so it gets its bit back.
// False if no single bit explains it.
absl::StatusOr<bool> Recovery::MendIndexTail(uint64_t offset, uint64_t bytes) {
  ByteBuffer tail;
  tail.resize(bytes);
  TS_ASSIGN_OR_RETURN(const size_t got, out_.index.ReadAt(offset, tail.span()));
  tail.resize(got);
  const std::optional<ByteBuffer> mended = WithoutFlippedBit(tail);
  if (!mended.has_value()) return false;
  LogError("a bit of the log's index was flipped, and is mended path={} record_at={}", index_path_,
           offset);
  changed_ = true;
  TS_RETURN_IF_ERROR(out_.index.WriteAt(offset, *mended));
  return true;
}

absl::Status Recovery::CheckLastBlock() {
  if (!last_.has_value() || compared_) return absl::OkStatus();  // The damage is known.
  TS_ASSIGN_OR_RETURN(const uint32_t crc, Crc32cOfFile(out_.log, last_->offset, last_->bytes));
  if (crc == last_->crc) return absl::OkStatus();
  return DataLoss("{}: block at byte {}: checksum {:08x} over {} bytes, its index says {:08x}",
                  path_, last_->offset, crc, last_->bytes, last_->crc);
}

// Keeps the complete messages of a block that was being written when its writer died.
absl::Status Recovery::RepairTornBlock() {
  IndexBlock& block = torn_->block;
  BlockCounter counted;
  TplogScanner scanner(out_.log, block.offset);
  while (counted.messages() < block.messages) {
    TS_ASSIGN_OR_RETURN(const std::optional<std::span<const std::byte>> body,
                        scanner.Next(log_bytes_));
    if (!body.has_value()) break;
    counted.Add(*body);
  }
  const bool of_others = !IsTornPartOf(block, out_.names, counted);
  const bool none = counted.messages() == 0 && torn_->kind == RecordKind::kBlock;

  // The order matters if the process dies here, too: until the log is cut, the record that tells
  // the source of its last bytes stays, or is followed by the one that replaces it.
  if (none && log_bytes_ > block.offset) TS_RETURN_IF_ERROR(CutLog(block.offset));
  if (none || of_others) {
    out_.names.tables.DropFrom(tables_before_torn_);
    out_.names.feeds.DropFrom(feeds_before_torn_);
    return absl::OkStatus();  // Its record is after settled_bytes_ and will be cut.
  }
  out_.recovery.messages_not_logged -= counted.messages();
  TS_RETURN_IF_ERROR(CutIndex(torn_->end));
  block.messages = counted.messages();
  block.bytes = static_cast<uint32_t>(counted.bytes());
  block.crc = counted.crc();
  for (IndexRows& rows : block.rows) {
    const auto found = counted.rows().find(out_.names.tables.NameOf(rows.table));
    rows.rows = found == counted.rows().end() ? 0 : static_cast<uint32_t>(found->second);
  }
  ByteBuffer records;
  AppendBlockRecord(RecordKind::kCutBlock, block, records);
  TS_RETURN_IF_ERROR(AppendIndex(records));
  settled_bytes_ = out_.index_bytes;
  Add(block, out_.names);
  if (log_bytes_ > block.end_offset()) return CutLog(block.end_offset());
  return absl::OkStatus();
}

// Adds to the index what another program appended to the log, or everything if there was no index.
absl::Status Recovery::IndexTheRest() {
  BlockCounter counted;
  TplogScanner scanner(out_.log, out_.totals.log_bytes);
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<std::span<const std::byte>> body,
                        scanner.Next(log_bytes_));
    if (body.has_value()) counted.Add(*body);
    const bool full =
        counted.bytes() >= kRebuiltBlockBytes || counted.rows().size() >= kBlockTablesMax;
    if (counted.messages() != 0 && (full || !body.has_value())) {
      TS_RETURN_IF_ERROR(AppendBlock(counted, out_.totals.log_bytes));
      counted.Clear();
    }
    if (!body.has_value()) break;
  }
  if (scanner.end() == TplogScanner::End::kClean) return absl::OkStatus();
  TS_RETURN_IF_ERROR(RefuseIfMore(scanner.offset()));
  return CutLog(scanner.offset());
}

// Returns an error if messages follow, because a tail is torn only if nothing follows it.
absl::Status Recovery::RefuseIfMore(uint64_t offset) {
  TS_ASSIGN_OR_RETURN(const std::optional<uint64_t> next,
                      FindUpdAfter(out_.log, offset, log_bytes_));
  if (!next.has_value()) return absl::OkStatus();
  return DataLoss("{}: message at byte {} is damaged: whole ones follow from byte {}", path_,
                  offset, *next);
}

absl::Status Recovery::AppendBlock(const BlockCounter& counted, uint64_t offset) {
  IndexBlock block;
  block.offset = offset;
  block.first_seq = out_.totals.messages;
  block.time_ns = kNullLong;
  block.messages = counted.messages();
  block.crc = counted.crc();
  block.bytes = static_cast<uint32_t>(counted.bytes());
  block.source = kSourceUnknown;
  ByteBuffer records;
  block.rows = NumberRows(counted.rows(), out_.names, records);
  AppendBlockRecord(RecordKind::kBlock, block, records);
  TS_RETURN_IF_ERROR(AppendIndex(records));
  Add(block, out_.names);
  out_.recovery.messages_indexed += block.messages;
  return absl::OkStatus();
}

absl::Status Recovery::AppendIndex(const ByteBuffer& records) {
  changed_ = true;
  TS_RETURN_IF_ERROR(out_.index.WriteAt(out_.index_bytes, records));
  out_.index_bytes += records.size();
  return absl::OkStatus();
}

absl::Status Recovery::CutIndex(uint64_t bytes) {
  if (out_.index_bytes == bytes) return absl::OkStatus();
  changed_ = true;
  TS_RETURN_IF_ERROR(out_.index.Truncate(bytes));
  out_.recovery.index_bytes_cut += out_.index_bytes - bytes;
  out_.index_bytes = bytes;
  return absl::OkStatus();
}

absl::Status Recovery::CutLog(uint64_t bytes) {
  changed_ = true;
  if (options_.keep_cut) {
    TS_ASSIGN_OR_RETURN(out_.recovery.cut_path, CutPath(path_, bytes));
    TS_RETURN_IF_ERROR(CopyBytes(out_.log, bytes, log_bytes_, out_.recovery.cut_path));
  }
  TS_RETURN_IF_ERROR(out_.log.Truncate(bytes));
  out_.recovery.log_bytes_cut += log_bytes_ - bytes;
  log_bytes_ = bytes;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecoveredTplog> RecoverTplog(const std::string& path,
                                            const RecoverOptions& options) {
  return Recovery(path, options).Run();
}

bool IsTornPartOf(const IndexBlock& block, const IndexDictionary& names,
                  const BlockCounter& counted) {
  if (counted.messages() == block.messages && block.messages != 0) return false;
  return std::all_of(counted.rows().begin(), counted.rows().end(), [&](const auto& entry) {
    const std::optional<uint32_t> number = names.tables.Find(entry.first);
    return number.has_value() &&
           std::any_of(block.rows.begin(), block.rows.end(),
                       [&](const IndexRows& rows) { return rows.table == *number; });
  });
}

absl::StatusOr<std::string> CutPath(const std::string& path, uint64_t offset) {
  std::string unused = fmt::format("{}.cut-{}", path, offset);
  for (int i = 2;; ++i) {
    TS_ASSIGN_OR_RETURN(const bool is_used, FileExists(unused));
    if (!is_used) return unused;
    unused = fmt::format("{}.cut-{}.{}", path, offset, i);
  }
}

absl::Status CopyRange(const File& from, uint64_t begin, uint64_t end, File& to,
                       uint64_t to_offset) {
  ByteBuffer buffer;
  for (uint64_t at = begin; at < end;) {
    buffer.resize(std::min(kCopyBytes, end - at));
    TS_ASSIGN_OR_RETURN(const size_t got, from.ReadAt(at, buffer.span()));
    if (got == 0) return DataLoss("{}: ends at byte {}, expected {}", from.path(), at, end);
    TS_RETURN_IF_ERROR(to.WriteAt(to_offset + (at - begin), buffer.span().first(got)));
    at += got;
  }
  return absl::OkStatus();
}

absl::Status CopyBytes(const File& from, uint64_t begin, uint64_t end, const std::string& to) {
  TS_ASSIGN_OR_RETURN(File copy, File::OpenOrCreate(to));
  TS_RETURN_IF_ERROR(copy.Truncate(0));
  TS_RETURN_IF_ERROR(CopyRange(from, begin, end, copy, 0));
  TS_RETURN_IF_ERROR(copy.SyncData());
  return SyncDirectory(DirectoryOf(to));
}

absl::StatusOr<uint32_t> Crc32cOfFile(const File& file, uint64_t offset, uint64_t bytes) {
  uint32_t crc = 0;
  ByteBuffer buffer;
  for (const uint64_t end = offset + bytes; offset < end;) {
    buffer.resize(std::min(kCopyBytes, end - offset));
    TS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(offset, buffer.span()));
    if (got == 0) return DataLoss("{}: ends at byte {}, expected {}", file.path(), offset, end);
    crc = ExtendCrc32c(crc, buffer.span().first(got));
    offset += got;
  }
  return crc;
}

uint32_t NumberOf(NameKind kind, std::string_view name, IndexDictionary& names, ByteBuffer& out) {
  IndexNames& known = kind == NameKind::kTable ? names.tables : names.feeds;
  if (const std::optional<uint32_t> number = known.Find(name)) return *number;
  const uint32_t number = known.next_number();
  AppendNameRecord(kind, number, name, out);
  known.Add(name);
  return number;
}

}  // namespace tickstack::tplog
