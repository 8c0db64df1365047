#include "disk/checksum_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::disk {
namespace {

static_assert(kChecksumVersion < 10);
constexpr char kChecksumTagText[] = {'t', 's', 's', 'u', 'm', 's', '0' + kChecksumVersion, '\n'};
constexpr std::string_view kChecksumTag(kChecksumTagText, sizeof(kChecksumTagText));
constexpr size_t kChecksumHeaderBytes = 24;  // Tag, block size, entries, their bytes, CRC32C.
constexpr size_t kEntryHeadBytes = 8 + 4 + 4;
// A table has at most some thousand columns, each with a name of at most 255 bytes.
constexpr uint32_t kEntriesBytesMax = uint32_t{64} << 20;

}  // namespace

void BlockChecksums::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const uint64_t in_block = bytes_ % kChecksumBlockBytes;
    const size_t part = std::min<uint64_t>(bytes.size(), kChecksumBlockBytes - in_block);
    crc_ = ExtendCrc32c(crc_, bytes.first(part));
    bytes_ += part;
    bytes = bytes.subspan(part);
    if (bytes_ % kChecksumBlockBytes == 0) blocks_.push_back(std::exchange(crc_, 0));
  }
}

std::vector<uint32_t> BlockChecksums::Finish() && {
  if (bytes_ % kChecksumBlockBytes != 0) blocks_.push_back(crc_);
  return std::move(blocks_);
}

absl::StatusOr<int64_t> ModifiedNs(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return Annotate(ErrnoStatus(errno, "stat"), path);
  return int64_t{status.st_mtim.tv_sec} * kNsPerSecond + status.st_mtim.tv_nsec;
}

absl::Status SetModifiedNs(const std::string& path, int64_t modified_ns) {
  timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};  // The time of the last access stays.
  const int64_t seconds = modified_ns / kNsPerSecond - (modified_ns % kNsPerSecond < 0 ? 1 : 0);
  times[1].tv_sec = static_cast<time_t>(seconds);
  times[1].tv_nsec = static_cast<long>(modified_ns - seconds * kNsPerSecond);
  if (::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0) return absl::OkStatus();
  return Annotate(ErrnoStatus(errno, "utimensat"), path);
}

void ChecksumCollector::Add(const std::string& path, BlockChecksums checksums) {
  FileChecksums file{path.substr(path.rfind('/') + 1), checksums.bytes(), {}};
  file.blocks = std::move(checksums).Finish();
  const std::lock_guard lock(mutex_);
  files_.push_back(std::move(file));
}

std::vector<FileChecksums> ChecksumCollector::Take() {
  const std::lock_guard lock(mutex_);
  std::ranges::sort(files_, {}, &FileChecksums::name);
  return std::exchange(files_, {});
}

ByteBuffer EncodeChecksums(std::span<const FileChecksums> files) {
  ByteBuffer entries;
  for (const FileChecksums& file : files) {
    entries.AppendLittle(file.bytes);
    entries.AppendLittle(Crc32c(std::as_bytes(std::span(file.blocks))));
    entries.AppendLittle(static_cast<uint32_t>(file.name.size()));
    entries.Append(file.name);
  }
  ByteBuffer out;
  out.Append(kChecksumTag);
  out.AppendLittle(static_cast<uint32_t>(kChecksumBlockBytes));
  out.AppendLittle(static_cast<uint32_t>(files.size()));
  out.AppendLittle(static_cast<uint32_t>(entries.size()));
  out.AppendLittle(ExtendCrc32c(Crc32c(out.span()), entries.span()));
  out.Append(entries.span());
  for (const FileChecksums& file : files) out.Append(std::as_bytes(std::span(file.blocks)));
  return out;
}

std::string ChecksumCommand(std::string_view path) {
  const size_t slash = path.rfind('/');
  return fmt::format("`tickstack hdb checksum {}`",
                     slash == std::string_view::npos ? "." : path.substr(0, slash));
}

absl::Status ChecksumFile::Damaged(uint64_t byte, std::string_view what) const {
  return DataLoss("{}: byte {}: {}: these checksums are damaged; {} writes them anew", path_, byte,
                  what, ChecksumCommand(path_));
}

absl::StatusOr<std::shared_ptr<const ChecksumFile>> ChecksumFile::Open(std::string path) {
  absl::StatusOr<File> file = File::OpenForReading(path);
  if (file.status().code() == absl::StatusCode::kNotFound) return nullptr;
  if (!file.ok()) return file.status();
  TS_ASSIGN_OR_RETURN(const int64_t modified_ns, ModifiedNs(path));
  std::shared_ptr<ChecksumFile> sums(new ChecksumFile(std::move(path)));
  sums->modified_ns_ = modified_ns;
  TS_ASSIGN_OR_RETURN(const uint64_t file_bytes, file->Bytes());

  std::byte head[kChecksumHeaderBytes];
  TS_ASSIGN_OR_RETURN(const size_t got, file->ReadAt(0, head));
  if (got < sizeof(head) || !AsText(head).starts_with(kChecksumTag)) {
    return sums->Damaged(0, "no header of checksums");
  }
  const auto block_bytes = LoadLittle<uint32_t>(head + 8);
  const auto count = LoadLittle<uint32_t>(head + 12);
  const auto entries_bytes = LoadLittle<uint32_t>(head + 16);
  if (entries_bytes > kEntriesBytesMax || entries_bytes > file_bytes - got ||
      block_bytes != kChecksumBlockBytes) {
    return sums->Damaged(
        8, fmt::format("{} bytes of entries, for blocks of {} bytes", entries_bytes, block_bytes));
  }
  ByteBuffer entries;
  entries.resize(entries_bytes);
  TS_RETURN_IF_ERROR(file->ReadAt(sizeof(head), entries.span()).status());
  const uint32_t crc =
      ExtendCrc32c(Crc32c(std::span<const std::byte>(head).first(20)), entries.span());
  if (const auto expected = LoadLittle<uint32_t>(head + 20); crc != expected) {
    return sums->Damaged(
        20, fmt::format("the entries have CRC32C {:08x}, expected {:08x}", crc, expected));
  }
  // What follows has its checksum, so it contradicts itself only if it was written that way.
  uint64_t offset = sizeof(head) + entries_bytes;
  size_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (entries_bytes - at < kEntryHeadBytes)
      return sums->Damaged(12, "fewer entries than counted");
    const std::byte* const each = entries.data() + at;
    const auto name_bytes = LoadLittle<uint32_t>(each + 12);
    at += kEntryHeadBytes;
    if (entries_bytes - at < name_bytes) return sums->Damaged(12, "a name that does not end");
    Entry entry{std::string(AsText(entries.span().subspan(at, name_bytes))),
                LoadLittle<uint64_t>(each), offset, LoadLittle<uint32_t>(each + 8)};
    at += name_bytes;
    offset += entry.blocks() * sizeof(uint32_t);
    sums->entries_.push_back(std::move(entry));
  }
  if (at != entries_bytes || offset != file_bytes) {
    return sums->Damaged(file_bytes, fmt::format("the file ends here, expected byte {}", offset));
  }
  return sums;
}

const ChecksumFile::Entry* ChecksumFile::Find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

absl::StatusOr<std::vector<uint32_t>> ChecksumFile::Load(const Entry& entry) const {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path_));
  std::vector<uint32_t> blocks(entry.blocks());
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(blocks));
  TS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(entry.offset, bytes));
  if (const uint32_t crc = Crc32c(bytes); got != bytes.size() || crc != entry.crc) {
    return Damaged(entry.offset, fmt::format("the checksums of {} have CRC32C {:08x}, expected "
                                             "{:08x}",
                                             entry.name, crc, entry.crc));
  }
  return blocks;
}

}  // namespace tickstack::disk
