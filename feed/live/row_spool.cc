#include "feed/live/row_spool.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <random>
#include <string_view>

#include "base/crc32c.h"
#include "base/directory.h"
#include "base/status.h"
#include "table/record.h"

namespace tickstack::feed::live {
namespace {

constexpr size_t kRecordHeadBytes = 8;
constexpr std::string_view kIdText = "tickstack feed spool 1 ";
constexpr size_t kIdBytesMax = 100;
constexpr std::string_view kRowsFile = "rows.";

// Returns the number of a file such as `rows.000007`; 0 for others.
uint64_t FileNumber(std::string_view name) {
  if (!name.starts_with(kRowsFile)) return 0;
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + kRowsFile.size(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

void AppendPosition(const market::StreamPosition& position, ByteBuffer& to) {
  AppendBytes(AsBytes(position.channel), to);
  AppendBytes(AsBytes(position.session), to);
  to.AppendLittle(position.next_seq);
  to.AppendLittle(position.first_recv_ns);
  to.AppendLittle(position.last_sent_ns);
  to.AppendLittle(position.delivered_ns);
}

bool ReadPosition(RecordReader& reader, market::StreamPosition* position) {
  return reader.ReadText(&position->channel) && reader.ReadText(&position->session) &&
         reader.Read(&position->next_seq) && reader.Read(&position->first_recv_ns) &&
         reader.Read(&position->last_sent_ns) && reader.Read(&position->delivered_ns) &&
         position->next_seq <= market::Arbiter::kSeqMax;
}

void AppendBatch(const SpoolBatch& batch, ByteBuffer& to) {
  AppendBytes(AsBytes(batch.table), to);
  to.AppendLittle(batch.first_row);
  to.AppendLittle(batch.rows);
  to.AppendLittle(batch.due_ns);
  AppendBytes(batch.data, to);
}

bool ReadBatch(RecordReader& reader, SpoolBatch* batch) {
  std::span<const std::byte> data;
  if (!reader.ReadText(&batch->table) || !reader.Read(&batch->first_row) ||
      !reader.Read(&batch->rows) || !reader.Read(&batch->due_ns) || !reader.ReadBytes(&data)) {
    return false;
  }
  constexpr int64_t kRowsMax = int64_t{1} << 60;
  batch->data = ByteBuffer(data);
  return batch->first_row >= 0 && batch->first_row < kRowsMax && batch->rows > 0 &&
         batch->rows < kRowsMax;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RowSpool>> RowSpool::Open(std::string directory) {
  std::unique_ptr<RowSpool> spool(new RowSpool(std::move(directory)));
  const absl::Status loaded = spool->Load();
  if (!loaded.ok()) return Annotate(loaded, "rows of the live feed");
  return spool;
}

std::string RowSpool::PathOf(uint64_t number) const {
  return fmt::format("{}/{}{:06}", directory_, kRowsFile, number);
}

absl::Status RowSpool::Load() {
  TS_RETURN_IF_ERROR(CreateDirectories(directory_));
  TS_ASSIGN_OR_RETURN(lock_, File::OpenOrCreate(directory_ + "/lock"));
  TS_RETURN_IF_ERROR(lock_.LockWithin(kLockWaitAtStart));
  TS_RETURN_IF_ERROR(LoadId());
  std::vector<uint64_t> numbers;
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory_));
  for (const DirectoryEntry& entry : entries) {
    if (const uint64_t number = FileNumber(entry.name); number > 0) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && numbers[i] != numbers[i - 1] + 1) {
      return DataLoss("{} is missing", PathOf(numbers[i - 1] + 1));
    }
    TS_RETURN_IF_ERROR(LoadFile(numbers[i], i + 1 == numbers.size()));
  }
  if (!numbers.empty()) {
    first_file_ = numbers.front();
    file_number_ = numbers.back();
  }
  TS_RETURN_IF_ERROR(BeginFile());
  return Append({}, {});
}

// An empty file is that of a process that was killed when it created the spool.
absl::Status RowSpool::LoadId() {
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(directory_ + "/id"));
  std::array<std::byte, kIdBytesMax> bytes{};
  TS_ASSIGN_OR_RETURN(const size_t size, file.ReadAt(0, bytes));
  if (size > 0) {
    const std::string_view text = AsText(std::span(bytes).first(size));
    if (!text.starts_with(kIdText) || !text.ends_with('\n')) {
      return DataLoss("{}: expected \"{}\" and an identity", file.path(), kIdText);
    }
    id_ = text.substr(kIdText.size(), text.size() - kIdText.size() - 1);
    return absl::OkStatus();
  }
  std::random_device random;
  id_ = fmt::format("{:08x}{:08x}", random(), random());
  TS_RETURN_IF_ERROR(file.WriteAt(0, AsBytes(fmt::format("{}{}\n", kIdText, id_))));
  // Rows are numbered under the identity. If it outlives a power cut that takes them, the numbers
  // disagree with the tickerplant's; a new identity would hide that they are missing.
  TS_RETURN_IF_ERROR(file.SyncData());
  return SyncDirectory(directory_);
}

absl::Status RowSpool::LoadFile(uint64_t number, bool is_last) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(PathOf(number)));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
  for (uint64_t at = 0; at < bytes;) {
    std::array<std::byte, kRecordHeadBytes> head{};
    TS_ASSIGN_OR_RETURN(const size_t head_bytes, file.ReadAt(at, head));
    const auto size = LoadLittle<uint32_t>(head.data());
    if (head_bytes < head.size() || size > bytes - at - head.size()) {
      if (is_last) return file.Truncate(at);  // The process was killed as it wrote this record.
      return DataLoss("{}: byte {}: the file is cut off", file.path(), at);
    }
    record_.resize(size);
    TS_RETURN_IF_ERROR(file.ReadAt(at + head.size(), record_.span()).status());
    if (LoadLittle<uint32_t>(head.data() + sizeof(uint32_t)) != Crc32c(record_) ||
        !LoadRecord(record_, number)) {
      return DataLoss("{}: byte {}: a record of {} bytes does not have its checksum or form",
                      file.path(), at, size);
    }
    at += head.size() + size;
  }
  return absl::OkStatus();
}

bool RowSpool::LoadRecord(std::span<const std::byte> body, uint64_t number) {
  RecordReader reader(body);
  uint32_t count = 0;
  if (!reader.Read(&count)) return false;
  for (; count > 0; --count) {
    std::string table;
    int64_t next_row = 0;
    if (!reader.ReadText(&table) || !reader.Read(&next_row) || next_row < 0) return false;
    next_rows_[table] = next_row;
  }
  if (!reader.Read(&count)) return false;
  for (; count > 0; --count) {
    market::StreamPosition position;
    if (!ReadPosition(reader, &position)) return false;
    Note(position);
  }
  if (!reader.Read(&count)) return false;
  for (; count > 0; --count) {
    SpoolBatch batch;
    if (!ReadBatch(reader, &batch) || batch.first_row != next_rows_[batch.table]) return false;
    next_rows_[batch.table] += batch.rows;
    batch.file = number;
    batches_.push_back(std::move(batch));
  }
  return reader.AtEnd();
}

void RowSpool::Note(const market::StreamPosition& position) {
  streams_[{position.channel, position.session}] = position;
}

std::vector<market::StreamPosition> RowSpool::Positions() const {
  std::vector<market::StreamPosition> positions;
  for (const auto& [key, position] : streams_) positions.push_back(position);
  return positions;
}

absl::Status RowSpool::BeginFile() {
  ++file_number_;
  TS_ASSIGN_OR_RETURN(file_, File::Create(PathOf(file_number_)));
  file_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status RowSpool::Append(std::span<const market::StreamPosition> positions,
                              std::span<SpoolBatch> batches) {
  if (error_.ok()) error_ = Write(positions, batches);
  return error_;
}

absl::Status RowSpool::Write(std::span<const market::StreamPosition> positions,
                             std::span<SpoolBatch> batches) {
  if (file_bytes_ >= kFileBytes) TS_RETURN_IF_ERROR(BeginFile());
  record_.clear();
  record_.Extend(kRecordHeadBytes);
  const bool is_first = file_bytes_ == 0;
  record_.AppendLittle(is_first ? static_cast<uint32_t>(next_rows_.size()) : 0u);
  if (is_first) {
    for (const auto& [table, next_row] : next_rows_) {
      AppendBytes(AsBytes(table), record_);
      record_.AppendLittle(next_row);
    }
  }
  for (const market::StreamPosition& position : positions) Note(position);
  record_.AppendLittle(static_cast<uint32_t>(is_first ? streams_.size() : positions.size()));
  if (is_first) {
    for (const auto& [key, position] : streams_) AppendPosition(position, record_);
  } else {
    for (const market::StreamPosition& position : positions) AppendPosition(position, record_);
  }
  record_.AppendLittle(static_cast<uint32_t>(batches.size()));
  for (SpoolBatch& batch : batches) {
    AppendBatch(batch, record_);
    batch.file = file_number_;
    next_rows_[batch.table] = batch.first_row + batch.rows;
  }
  const std::span<std::byte> body = record_.span().subspan(kRecordHeadBytes);
  const auto size = static_cast<uint32_t>(body.size());
  const uint32_t checksum = Crc32c(body);
  std::memcpy(record_.data(), &size, sizeof(size));
  std::memcpy(record_.data() + sizeof(size), &checksum, sizeof(checksum));
  TS_RETURN_IF_ERROR(file_.WriteAt(file_bytes_, record_));
  file_bytes_ += record_.size();
  return absl::OkStatus();
}

absl::Status RowSpool::RemoveBefore(uint64_t file) {
  for (; first_file_ < file && first_file_ < file_number_; ++first_file_) {
    const std::string path = PathOf(first_file_);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, path);
  }
  return absl::OkStatus();
}

}  // namespace tickstack::feed::live
