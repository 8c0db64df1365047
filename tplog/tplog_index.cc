#include "tplog/tplog_index.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"

namespace tickstack::tplog {
namespace {

constexpr size_t kIndexWindowBytes = size_t{64} << 10;

// Begins a record and leaves room for its checksum and size; Finish fills them in.
size_t BeginRecord(RecordKind kind, uint8_t detail, ByteBuffer& out) {
  const size_t begin = out.size();
  out.AppendLittle(uint32_t{0});
  out.AppendLittle(uint16_t{0});
  out.AppendLittle(static_cast<uint8_t>(kind));
  out.AppendLittle(detail);
  return begin;
}

void FinishRecord(size_t begin, ByteBuffer& out) {
  const size_t bytes = out.size() - begin;
  TS_CHECK(bytes <= kRecordBytesMax);
  const auto bytes16 = static_cast<uint16_t>(bytes);
  std::memcpy(out.data() + begin + 4, &bytes16, sizeof(bytes16));
  const uint32_t crc = Crc32c(out.span().subspan(begin + 4));
  std::memcpy(out.data() + begin, &crc, sizeof(crc));
}

RecordKind KindOf(std::span<const std::byte> record) { return static_cast<RecordKind>(record[6]); }

// Reads a block record of kBlockFixedBytes and complete tables.
IndexBlock LoadBlockFields(std::span<const std::byte> record) {
  IndexBlock block;
  const std::byte* at = record.data() + kRecordHeadBytes;
  block.offset = LoadLittle<uint64_t>(at);
  block.first_seq = LoadLittle<uint64_t>(at + 8);
  block.time_ns = LoadLittle<int64_t>(at + 16);
  block.messages = LoadLittle<uint32_t>(at + 24);
  block.crc = LoadLittle<uint32_t>(at + 28);
  block.bytes = LoadLittle<uint32_t>(at + 32);
  block.source = LoadLittle<uint32_t>(at + 36);
  for (at += 40; at != record.data() + record.size(); at += kBlockTableBytes) {
    block.rows.push_back({LoadLittle<uint32_t>(at), LoadLittle<uint32_t>(at + 4)});
  }
  return block;
}

}  // namespace

std::optional<uint32_t> IndexNames::Find(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

void IndexNames::Add(std::string_view name) {
  numbers_.emplace(std::string(name), next_number());
  names_.emplace_back(name);
}

void IndexNames::DropFrom(uint32_t number) {
  while (next_number() > number) {
    numbers_.erase(names_.back());
    names_.pop_back();
  }
}

void AppendIndexHeader(ByteBuffer& out) {
  const size_t begin = out.size();
  out.Append(kIndexMagic);
  out.AppendLittle(kIndexVersion);
  out.AppendLittle(Crc32c(out.span().subspan(begin)));
}

void AppendNameRecord(NameKind kind, uint32_t number, std::string_view name, ByteBuffer& out) {
  TS_CHECK(name.size() <= kIndexNameBytesMax);
  const size_t begin = BeginRecord(RecordKind::kName, static_cast<uint8_t>(kind), out);
  out.AppendLittle(number);
  out.Append(name);
  FinishRecord(begin, out);
}

void AppendBlockRecord(RecordKind kind, const IndexBlock& block, ByteBuffer& out) {
  const size_t begin = BeginRecord(kind, 0, out);
  out.AppendLittle(block.offset);
  out.AppendLittle(block.first_seq);
  out.AppendLittle(block.time_ns);
  out.AppendLittle(block.messages);
  out.AppendLittle(block.crc);
  out.AppendLittle(block.bytes);
  out.AppendLittle(block.source);
  for (const IndexRows& rows : block.rows) {
    out.AppendLittle(rows.table);
    out.AppendLittle(rows.rows);
  }
  FinishRecord(begin, out);
}

void AppendProgressRecord(const IndexProgress& progress, ByteBuffer& out) {
  const size_t begin = BeginRecord(RecordKind::kProgress, 0, out);
  out.AppendLittle(progress.feed);
  out.AppendLittle(progress.table);
  out.AppendLittle(progress.rows);
  FinishRecord(begin, out);
}

std::optional<IndexBlock> PeekIndexBlock(std::span<const std::byte> bytes) {
  if (bytes.size() < kBlockFixedBytes || KindOf(bytes) != RecordKind::kBlock) return std::nullopt;
  const size_t size = LoadLittle<uint16_t>(bytes.data() + 4);
  if (size < kBlockFixedBytes || size > bytes.size() ||
      (size - kBlockFixedBytes) % kBlockTableBytes != 0) {
    return std::nullopt;
  }
  const std::span<const std::byte> record = bytes.first(size);
  if (Crc32c(record.subspan(4)) != LoadLittle<uint32_t>(record.data())) return std::nullopt;
  return LoadBlockFields(record);
}

namespace {

// Returns the size of the record at the start of `bytes` if it is whole and matches its checksum,
// or else 0.
size_t WholeRecordBytes(std::span<const std::byte> bytes) {
  if (bytes.size() < kRecordHeadBytes) return 0;
  const size_t size = LoadLittle<uint16_t>(bytes.data() + 4);
  if (size < kRecordHeadBytes || size > bytes.size()) return 0;
  const uint32_t crc = Crc32c(bytes.first(size).subspan(4));
  return crc == LoadLittle<uint32_t>(bytes.data()) ? size : 0;
}

std::span<std::byte> WithoutWholeRecords(std::span<std::byte> bytes) {
  while (const size_t size = WholeRecordBytes(bytes)) bytes = bytes.subspan(size);
  return bytes;
}

// True if bytes at the end of an index are none, or what a writer leaves that dies: a record that
// reaches to the end or past it. Not true of zeros, which a power cut may leave: with a flipped bit
// before them, two things went wrong.
bool MayBeTorn(std::span<const std::byte> bytes) {
  if (bytes.size() < kRecordHeadBytes) return true;
  return LoadLittle<uint16_t>(bytes.data() + 4) >= bytes.size();
}

}  // namespace

std::optional<ByteBuffer> WithoutFlippedBit(std::span<const std::byte> tail) {
  constexpr size_t kBytesMax = 4096;
  ByteBuffer mended;
  mended.Append(tail);
  const std::span<std::byte> rest = WithoutWholeRecords(mended.span());
  if (rest.size() < kRecordHeadBytes) return std::nullopt;
  // A size that was made larger may reach past the end of the file, whatever follows the record.
  const size_t size = LoadLittle<uint16_t>(rest.data() + 4);
  const size_t end = size > rest.size() || size > kBytesMax ? kRecordHeadBytes : size;
  for (size_t bit = 0; bit < 8 * end; ++bit) {
    const std::byte mask = std::byte{1} << (bit % 8);
    rest[bit / 8] ^= mask;
    if (WholeRecordBytes(rest) > 0) {
      // The bit explains the record, but perhaps not what follows.
      if (MayBeTorn(WithoutWholeRecords(rest))) return mended;
      return std::nullopt;
    }
    rest[bit / 8] ^= mask;
  }
  return std::nullopt;
}

absl::StatusOr<TplogIndexReader> TplogIndexReader::Open(std::string path) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenForReading(std::move(path)));
  ByteBuffer expected;
  AppendIndexHeader(expected);
  std::byte header[kIndexHeaderBytes];
  TS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, header));
  const std::span<const std::byte> found(header, got);
  if (got < kIndexHeaderBytes || AsText(found.first(kIndexMagic.size())) != kIndexMagic ||
      Crc32c(found.first(12)) != LoadLittle<uint32_t>(header + 12)) {
    return DataLoss("{}: not an index of a tickerplant log: its first {} bytes are no header",
                    file.path(), kIndexHeaderBytes);
  }
  if (const auto version = LoadLittle<uint32_t>(header + 8); version != kIndexVersion) {
    return Unimplemented("{}: index version {}, this program reads {}", file.path(), version,
                         kIndexVersion);
  }
  return TplogIndexReader(std::make_shared<const File>(std::move(file)));
}

TplogIndexReader TplogIndexReader::OpenAt(std::shared_ptr<const File> file, uint64_t index_offset,
                                          uint64_t log_offset, uint64_t seq,
                                          IndexDictionary names) {
  TplogIndexReader reader(std::move(file));
  reader.at_ = {.position = index_offset,
                .log_offset = log_offset,
                .seq = seq,
                .next_table = names.tables.next_number(),
                .next_feed = names.feeds.next_number()};
  reader.before_ = reader.at_;
  reader.names_ = std::move(names);
  return reader;
}

absl::Status TplogIndexReader::Damaged(std::string_view found) const {
  return DataLoss("{}: record at byte {}: {}", file_->path(), at_.position, found);
}

void TplogIndexReader::GoTo(const Place& place) {
  at_ = place;
  names_.tables.DropFrom(place.next_table);
  names_.feeds.DropFrom(place.next_feed);
  // The writer may have taken back records that were read ahead, and written others.
  window_.clear();
}

void TplogIndexReader::Unread() { GoTo(before_); }

void TplogIndexReader::Rewind() { GoTo(Place()); }

// Returns up to `bytes` bytes at the position; fewer at the end of the file.
absl::StatusOr<TplogIndexReader::Bytes> TplogIndexReader::Window(size_t bytes) {
  uint64_t skip = at_.position - window_offset_;
  if (window_.empty() || skip + bytes > window_.size()) {
    window_.resize(std::max(bytes, kIndexWindowBytes));
    window_offset_ = at_.position;
    const absl::StatusOr<size_t> got = file_->ReadAt(at_.position, window_.span());
    window_.resize(got.ok() ? *got : 0);
    TS_RETURN_IF_ERROR(got.status());
    skip = 0;
  }
  const Bytes rest = window_.span().subspan(skip);
  return rest.first(std::min(bytes, rest.size()));
}

// Returns the record at the position, whole and matching its checksum; nullopt at the end of the
// file, and for a torn last record. Does not move.
absl::StatusOr<std::optional<TplogIndexReader::Bytes>> TplogIndexReader::PeekBytes() {
  torn_bytes_ = 0;
  TS_ASSIGN_OR_RETURN(Bytes head, Window(kRecordHeadBytes));
  if (head.empty()) return std::nullopt;
  if (head.size() < kRecordHeadBytes) {
    torn_bytes_ = head.size();
    return std::nullopt;
  }
  const size_t bytes = LoadLittle<uint16_t>(head.data() + 4);
  // One more byte, to see whether the record is the last one.
  TS_ASSIGN_OR_RETURN(const Bytes found, Window(std::max(bytes, kRecordHeadBytes) + 1));
  if (bytes >= kRecordHeadBytes && found.size() >= bytes) {
    const Bytes record = found.first(bytes);
    if (Crc32c(record.subspan(4)) == LoadLittle<uint32_t>(record.data())) return record;
  }
  if (bytes >= kRecordHeadBytes && found.size() <= bytes) {
    torn_bytes_ = found.size();
    return std::nullopt;
  }
  // A power cut leaves zeros where the end of the index had not reached the disk.
  TS_ASSIGN_OR_RETURN(const uint64_t zeros, ZerosToEnd(at_.position + bytes));
  if (zeros > 0) {
    torn_bytes_ = bytes + zeros;
    return std::nullopt;
  }
  return Damaged("its checksum does not match, and it is not the last");
}

// Returns how many bytes follow `offset` if all of them are zeros; 0 if not, or if there are none.
absl::StatusOr<uint64_t> TplogIndexReader::ZerosToEnd(uint64_t offset) const {
  uint64_t zeros = 0;
  ByteBuffer bytes;
  while (true) {
    bytes.resize(kIndexWindowBytes);
    TS_ASSIGN_OR_RETURN(const size_t got, file_->ReadAt(offset + zeros, bytes.span()));
    if (got == 0) return zeros;
    for (const std::byte byte : bytes.span().first(got)) {
      if (byte != std::byte{0}) return 0;
    }
    zeros += got;
  }
}

absl::Status TplogIndexReader::TakeName(Bytes record) {
  if (record.size() < kNameFixedBytes || record.size() > kNameFixedBytes + kIndexNameBytesMax) {
    return Damaged(fmt::format("a name record of {} bytes", record.size()));
  }
  const auto kind = static_cast<NameKind>(record[7]);
  if (kind != NameKind::kTable && kind != NameKind::kFeed) {
    return Damaged(fmt::format("a name of unknown kind {}", static_cast<int>(kind)));
  }
  IndexNames& names = kind == NameKind::kTable ? names_.tables : names_.feeds;
  const auto number = LoadLittle<uint32_t>(record.data() + kRecordHeadBytes);
  const std::string_view name = AsText(record.subspan(kNameFixedBytes));
  if (number != names.next_number() || names.Find(name).has_value()) {
    return Damaged(fmt::format("name `{}` has number {}, the next one is {}", name, number,
                               names.next_number()));
  }
  names.Add(name);
  return absl::OkStatus();
}

namespace {

// Tables are in any order, mostly in that of their numbers.
std::optional<uint32_t> TableThatIsThereTwice(std::span<const IndexRows> rows) {
  const auto does_not_ascend = [](const IndexRows& a, const IndexRows& b) {
    return a.table >= b.table;
  };
  if (std::ranges::adjacent_find(rows, does_not_ascend) == rows.end()) return std::nullopt;
  std::vector<uint32_t> tables;
  for (const IndexRows& each : rows) tables.push_back(each.table);
  std::ranges::sort(tables);
  const auto twice = std::ranges::adjacent_find(tables);
  return twice == tables.end() ? std::nullopt : std::optional(*twice);
}

}  // namespace

absl::Status TplogIndexReader::ParseBlock(Bytes record, IndexBlock* out) const {
  if (record.size() < kBlockFixedBytes ||
      (record.size() - kBlockFixedBytes) % kBlockTableBytes != 0) {
    return Damaged(fmt::format("a block record of {} bytes", record.size()));
  }
  *out = LoadBlockFields(record);
  if (out->source != kSourceNone && out->source != kSourceUnknown &&
      !names_.feeds.Has(out->source)) {
    return Damaged(fmt::format("feed number {} has no name", out->source));
  }
  for (const IndexRows& rows : out->rows) {
    if (!names_.tables.Has(rows.table)) {
      return Damaged(fmt::format("table number {} has no name", rows.table));
    }
  }
  if (const std::optional<uint32_t> twice = TableThatIsThereTwice(out->rows)) {
    return Damaged(fmt::format("table number {} is in it twice", *twice));
  }
  return absl::OkStatus();
}

absl::Status TplogIndexReader::ParseProgress(Bytes record, IndexProgress* out) const {
  if (record.size() != kProgressBytes) {
    return Damaged(fmt::format("a progress record of {} bytes", record.size()));
  }
  const std::byte* at = record.data() + kRecordHeadBytes;
  out->feed = LoadLittle<uint32_t>(at);
  out->table = LoadLittle<uint32_t>(at + 4);
  out->rows = LoadLittle<uint64_t>(at + 8);
  if (!names_.feeds.Has(out->feed) || !names_.tables.Has(out->table)) {
    return Damaged(fmt::format("progress of feed {} in table {}: a number has no name", out->feed,
                               out->table));
  }
  return absl::OkStatus();
}

// Replaces a block that was just read by the part of it that the writer's successor found. A
// damaged record after it, or one that cuts another block, is reported by the next call: this block
// is good.
void TplogIndexReader::TakeCuts(Record* record) {
  while (true) {
    const absl::StatusOr<std::optional<Bytes>> bytes = PeekBytes();
    if (!bytes.ok() || !bytes->has_value() || KindOf(**bytes) != RecordKind::kCutBlock) return;
    IndexBlock cut;
    const IndexBlock& whole = record->block;
    if (!ParseBlock(**bytes, &cut).ok() || cut.offset != whole.offset ||
        cut.first_seq != whole.first_seq || cut.source != whole.source ||
        cut.messages > whole.messages || cut.bytes > whole.bytes ||
        (cut.messages == 0) != (cut.bytes == 0)) {
      return;
    }
    at_.position += (*bytes)->size();
    record->kind = RecordKind::kCutBlock;
    record->block = std::move(cut);
    record->end = at_.position;
  }
}

absl::StatusOr<std::optional<TplogIndexReader::Record>> TplogIndexReader::NextRecord() {
  Record record;
  record.begin = at_.position;
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<Bytes> bytes, PeekBytes());
    if (!bytes.has_value()) {
      // Names without their block, or a torn record after them.
      torn_bytes_ += at_.position - record.begin;
      return std::nullopt;
    }
    record.kind = KindOf(*bytes);
    if (record.kind == RecordKind::kName) {
      TS_RETURN_IF_ERROR(TakeName(*bytes));
      at_.position += bytes->size();
      continue;
    }
    if (record.kind == RecordKind::kProgress) {
      TS_RETURN_IF_ERROR(ParseProgress(*bytes, &record.progress));
    } else if (record.kind == RecordKind::kBlock) {
      TS_RETURN_IF_ERROR(ParseBlock(*bytes, &record.block));
      if (record.block.offset != at_.log_offset || record.block.first_seq != at_.seq) {
        return Damaged(fmt::format("block of message {} at {}, expected message {} at {}",
                                   record.block.first_seq, record.block.offset, at_.seq,
                                   at_.log_offset));
      }
      if (record.block.messages == 0 || record.block.bytes == 0) {
        return Damaged(fmt::format("block at {} is empty", record.block.offset));
      }
    } else if (record.kind == RecordKind::kCutBlock) {
      return Damaged("a cut of a block that is not the one before");
    } else {
      return Damaged(fmt::format("unknown kind {}", static_cast<int>(record.kind)));
    }
    at_.position += bytes->size();
    record.end = at_.position;
    return record;
  }
}

absl::StatusOr<std::optional<TplogIndexReader::Record>> TplogIndexReader::Next() {
  const Place before = at_;
  TS_ASSIGN_OR_RETURN(std::optional<Record> record, NextRecord());
  if (!record.has_value()) {
    GoTo(before);
    return std::nullopt;
  }
  if (record->kind == RecordKind::kBlock) {
    const uint64_t torn_bytes = torn_bytes_;
    TakeCuts(&*record);
    torn_bytes_ = torn_bytes;
    at_.log_offset = record->block.end_offset();
    at_.seq = record->block.end_seq();
  }
  at_.next_table = names_.tables.next_number();
  at_.next_feed = names_.feeds.next_number();
  before_ = before;
  return record;
}

void AddBlock(const IndexBlock& block, const IndexDictionary& names, TplogTotals& totals) {
  totals.messages = block.end_seq();
  totals.log_bytes = block.end_offset();
  for (const IndexRows& rows : block.rows) {
    totals.rows[names.tables.NameOf(rows.table)] += rows.rows;
  }
  AddFeedRows(block, names, totals);
}

void AddFeedRows(const IndexBlock& block, const IndexDictionary& names, TplogTotals& totals) {
  if (block.source == kSourceNone) return;
  if (block.source == kSourceUnknown) {
    totals.feed_progress_known = false;
    return;
  }
  TableRows& feed_rows = totals.feed_rows[names.feeds.NameOf(block.source)];
  for (const IndexRows& rows : block.rows) {
    feed_rows[names.tables.NameOf(rows.table)] += rows.rows;
  }
}

void AddProgress(const IndexProgress& progress, const IndexDictionary& names, TplogTotals& totals) {
  totals.feed_rows[names.feeds.NameOf(progress.feed)][names.tables.NameOf(progress.table)] +=
      progress.rows;
}

}  // namespace tickstack::tplog
