#include "disk/symbol_file_writer.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/symbol_file.h"
#include "disk/verified_blocks.h"
#include "table/types.h"

namespace tickstack::disk {
namespace {

constexpr size_t kHeaderBytes = 8;
constexpr std::string_view kNames("\xff\x01\x0b", 3);  // kSerialisedTag, then the type.

}  // namespace

ByteBuffer SymbolListFile(std::span<const std::string_view> names) {
  ByteBuffer out;
  out.Append(kNames);
  out.AppendLittle(uint8_t{0});
  out.AppendLittle(static_cast<int32_t>(names.size()));
  for (const std::string_view name : names) {
    out.Append(name);
    out.AppendLittle(uint8_t{0});
  }
  return out;
}

absl::StatusOr<File> LockDatabase(const std::string& database, std::chrono::nanoseconds at_most) {
  TS_ASSIGN_OR_RETURN(File lock, File::OpenOrCreate(database + "/tickstack.lock$"));
  TS_RETURN_IF_ERROR(lock.LockWithin(at_most));
  return lock;
}

absl::StatusOr<std::unique_ptr<SymbolFileWriter>> SymbolFileWriter::Open(
    const std::string& database, const Storage& storage) {
  TS_ASSIGN_OR_RETURN(File lock, LockDatabase(database));
  std::unique_ptr<SymbolFileWriter> file(
      new SymbolFileWriter(fmt::format("{}/{}", database, kDomain), storage, std::move(lock)));
  TS_RETURN_IF_ERROR(file->Read());
  return file;
}

absl::Status SymbolFileWriter::Read() {
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(path_));
  if (!is_there) return absl::OkStatus();  // The first names create it.
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(path_, kBytesMax));
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> checksums,
                      ChecksumFile::Open(path_ + std::string(kDomainChecksumSuffix)));
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<const VerifiedBlocks> blocks,
                      VerifiedBlocks::Load(checksums.get(), path_, bytes.size(), true));
  if (blocks != nullptr) {
    const std::optional<DamagedBlock> damage = blocks->FindDamage(bytes, 0, bytes.size());
    if (damage) return blocks->ErrorOf(*damage, path_, "");
    checksums_bytes_ = blocks->bytes();
  }
  const absl::StatusOr<StoredNames> names = ParseStoredNames(bytes);
  if (!names.ok()) return Annotate(names.status(), path_);
  // An empty list that is not marked as one of names: the first names replace it.
  if (!AsText(bytes).starts_with(kNames)) return absl::OkStatus();
  std::string_view rest = AsText(names->text);
  while (!rest.empty()) {
    const size_t end = rest.find('\0');
    numbers_.try_emplace(rest.substr(0, end), count_++);  // The first of equal names counts.
    rest.remove_prefix(end + 1);
  }
  exists_ = true;
  torn_bytes_ = names->torn_bytes;
  bytes_ = bytes.size() - torn_bytes_;
  checksums_.Append(bytes.span().first(bytes_));
  if (torn_bytes_ == 0) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(path_));
  TS_RETURN_IF_ERROR(storage_.Truncate(file, bytes_));
  return storage_.Sync(file);
}

absl::Status SymbolFileWriter::Append(std::span<const std::string_view> fresh) {
  ByteBuffer all = SymbolListFile(fresh);
  if (!exists_) {
    const std::string made = path_ + ".new$";
    TS_RETURN_IF_ERROR(storage_.Remove(made));
    TS_RETURN_IF_ERROR(WriteNewFile(storage_, made, all));
    TS_RETURN_IF_ERROR(storage_.Rename(made, path_));
    TS_RETURN_IF_ERROR(storage_.SyncDirectory(DirectoryOf(path_)));
    exists_ = true;
    bytes_ = all.size();
    checksums_ = BlockChecksums();
    checksums_.Append(all);
    return WriteChecksums();
  }
  const std::span<const std::byte> names = all.span().subspan(kHeaderBytes);
  if (bytes_ + names.size() > kBytesMax) {
    return ResourceExhausted("{}: {} bytes of names, and {} more, expected {} at most", path_,
                             bytes_, names.size(), kBytesMax);
  }
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(path_));
  absl::Status appended = storage_.Write(file, bytes_, names);
  if (appended.ok()) appended = storage_.Sync(file);
  if (!appended.ok()) {
    // A part of the names may be in the file. Whole ones do no harm; the next opening cuts a torn
    // one.
    (void)storage_.Truncate(file, bytes_);
    return appended;
  }
  bytes_ += names.size();
  checksums_.Append(names);
  return WriteChecksums();
}

absl::Status SymbolFileWriter::WriteChecksums() {
  FileChecksums file{std::string(kDomain), bytes_, {}};
  file.blocks = BlockChecksums(checksums_).Finish();
  const std::string path = path_ + std::string(kDomainChecksumSuffix);
  const std::string made = path_ + ".checksums.new$";
  TS_RETURN_IF_ERROR(storage_.Remove(made));
  TS_RETURN_IF_ERROR(WriteNewFile(storage_, made, EncodeChecksums(std::span(&file, 1))));
  TS_RETURN_IF_ERROR(storage_.Rename(made, path));
  TS_RETURN_IF_ERROR(storage_.SyncDirectory(DirectoryOf(path_)));
  checksums_bytes_ = bytes_;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> SymbolFileWriter::Numbers(
    std::span<const std::string_view> names) {
  std::vector<int64_t> numbers;
  std::vector<std::string_view> fresh;
  for (const std::string_view name : names) {
    if (name.empty()) {
      numbers.push_back(kNullLong);
      continue;
    }
    const auto [at, is_new] =
        numbers_.try_emplace(name, count_ + static_cast<int64_t>(fresh.size()));
    if (is_new) fresh.push_back(name);
    numbers.push_back(at->second);
  }
  if (fresh.empty()) {
    // Names from a kdb+ process, or of an append after which this one died.
    if (exists_ && checksums_bytes_ != bytes_) TS_RETURN_IF_ERROR(WriteChecksums());
    return numbers;
  }
  if (absl::Status appended = Append(fresh); !appended.ok()) {
    for (const std::string_view name : fresh) numbers_.erase(numbers_.find(name));
    return appended;
  }
  count_ += static_cast<int64_t>(fresh.size());
  appended_ += static_cast<int64_t>(fresh.size());
  return numbers;
}

}  // namespace tickstack::disk
