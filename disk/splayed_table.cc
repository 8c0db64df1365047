#include "disk/splayed_table.h"

#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "disk/left_out_table.h"
#include "disk/object_store.h"
#include "disk/partition_versions.h"

namespace tickstack::disk {

SplayedTable::SplayedTable(std::string directory, const VersionId& id,
                           std::vector<std::string> names,
                           std::shared_ptr<const SymbolDomains> domains,
                           std::shared_ptr<const ChecksumFile> checksums)
    : directory_(std::move(directory)),
      id_(id),
      names_(std::move(names)),
      domains_(std::move(domains)),
      checksums_(std::move(checksums)),
      files_(names_.size()),
      is_opening_(names_.size()),
      entry_(this) {}

SplayedTable::~SplayedTable() = default;

absl::StatusOr<std::shared_ptr<const SplayedTable>> SplayedTable::OpenNow(
    const std::string& directory, const VersionId& id,
    const std::shared_ptr<const SymbolDomains>& domains) {
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const ChecksumFile> checksums,
                      ChecksumFile::Open(fmt::format("{}/{}", directory, kChecksumName)));
  TS_ASSIGN_OR_RETURN(std::vector<std::string> names,
                      ReadColumnNames(directory + "/.d", checksums.get()));
  return std::shared_ptr<const SplayedTable>(
      new SplayedTable(directory, id, std::move(names), domains, std::move(checksums)));
}

absl::StatusOr<std::shared_ptr<const SplayedTable>> SplayedTable::Open(
    const std::string& directory, const std::shared_ptr<const SymbolDomains>& domains) {
  constexpr int kAttempts = 4;  // Each is repeated only if another directory takes its place.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const VersionId id = IdOf(directory);
    absl::StatusOr<std::shared_ptr<const SplayedTable>> table = OpenNow(directory, id, domains);
    if (IdOf(directory).IsSame(id)) return table;
  }
  return Unavailable("{}: it was replaced {} times while it was opened", directory, kAttempts);
}

int SplayedTable::Find(std::string_view column) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == column) return static_cast<int>(i);
  }
  return -1;
}

std::shared_ptr<const ColumnFile> SplayedTable::FindOpen(size_t i) const {
  // Usually it is set already: then its cache line stays shared among the cores.
  if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  return files_[i];
}

std::string SplayedTable::DirectoryNow() const {
  const size_t slash = directory_.rfind('/');
  const std::string below =
      slash == std::string::npos ? "/" + directory_ : directory_.substr(slash);
  return FindVersion(DirectoryOf(directory_), below, id_);
}

// Opens a column in `directory`, where the table is now.
absl::StatusOr<std::shared_ptr<const ColumnFile>> SplayedTable::OpenColumnIn(
    const std::string& directory, size_t i) const {
  // The file of checksums is read by its path when a column is opened.
  std::shared_ptr<const ChecksumFile> checksums = checksums_;
  if (checksums != nullptr && directory != directory_) {
    TS_ASSIGN_OR_RETURN(checksums,
                        ChecksumFile::Open(fmt::format("{}/{}", directory, kChecksumName)));
  }
  absl::StatusOr<std::shared_ptr<const ColumnFile>> file =
      ColumnFile::Open(fmt::format("{}/{}", directory, names_[i]), domains_, checksums.get());
  if (!absl::IsNotFound(file.status())) return file;
  TS_ASSIGN_OR_RETURN(const std::optional<std::string> why, WhyLeftOut(directory));
  if (!why) return file;
  return FailedPrecondition("{}: the table of this day is not written: {}", directory, *why);
}

absl::StatusOr<std::shared_ptr<const ColumnFile>> SplayedTable::OpenColumn(size_t i) const {
  // Each is repeated only if the directory is renamed meanwhile, or for damage.
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string directory = DirectoryNow();
    if (directory.empty()) {
      if (IdOf(directory_).inode != 0) break;
      directory = directory_;  // Opening the column says what is missing.
    }
    absl::StatusOr<std::shared_ptr<const ColumnFile>> file = OpenColumnIn(directory, i);
    // Another version may have taken the place of this one, and given it back, since the first
    // look: then the file was that version's. So damage counts only if it is there each time.
    if (absl::IsDataLoss(file.status()) && attempt + 1 < kAttempts) continue;
    if (DirectoryNow() == directory || IdOf(directory_).inode == 0) return file;
  }
  return Unavailable(
      "{}: another directory has taken its place since it was loaded: reload the database",
      directory_);
}

absl::StatusOr<std::shared_ptr<const ColumnFile>> SplayedTable::OpenOnce(size_t i) const {
  if (std::shared_ptr<const ColumnFile> file = FindOpen(i)) return file;
  {
    std::unique_lock lock(mutex_);
    while (is_opening_[i]) {
      // Opening an archived column may take as long as its store does.
      opened_.wait_for(lock, std::chrono::milliseconds(20));
      lock.unlock();
      TS_RETURN_IF_ERROR(WaitCheck::Now());
      lock.lock();
    }
    if (files_[i] != nullptr) return files_[i];
    is_opening_[i] = true;
  }
  // This may call Evict, for lack of mappings.
  absl::StatusOr<std::shared_ptr<const ColumnFile>> file = OpenColumn(i);
  {
    const std::lock_guard lock(mutex_);
    if (file.ok()) files_[i] = *file;
    is_opening_[i] = false;
  }
  opened_.notify_all();
  return file;
}

void SplayedTable::Evict(bool used_too,
                         std::vector<std::shared_ptr<const ColumnFile>>& gone) const {
  if (used_.exchange(false, std::memory_order_relaxed) && !used_too) return;
  const std::lock_guard lock(mutex_);
  for (std::shared_ptr<const ColumnFile>& file : files_) {
    // Copies are made under the mutex, so nobody can copy it now.
    if (file != nullptr && file.use_count() == 1) gone.push_back(std::move(file));
  }
}

absl::StatusOr<uint64_t> SplayedTable::Rows() const {
  const uint64_t known = rows_.load(std::memory_order_relaxed);
  if (known != kRowsUnknown) return known;
  absl::Status first_error;
  for (size_t i = 0; i < columns(); ++i) {
    const absl::StatusOr<std::shared_ptr<const ColumnFile>> column = OpenOnce(i);
    if (column.ok()) {
      // A column that cannot be opened now may be opened later: then its row count is used.
      if (first_error.code() != absl::StatusCode::kResourceExhausted) {
        rows_.store((*column)->rows(), std::memory_order_relaxed);
      }
      return (*column)->rows();
    }
    if (first_error.ok()) first_error = column.status();
    // An object store that does not answer would let the next column wait just as long.
    if (absl::IsUnavailable(first_error)) break;
  }
  TS_RETURN_IF_ERROR(first_error);
  return 0;  // A table without columns.
}

absl::StatusOr<std::shared_ptr<const ColumnFile>> SplayedTable::Column(size_t i) const {
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const ColumnFile> column, OpenOnce(i));
  TS_ASSIGN_OR_RETURN(const uint64_t rows, Rows());
  if (column->rows() != rows) {
    return DataLoss("{}: {} rows, the columns before it have {}", column->path(), column->rows(),
                    rows);
  }
  return column;
}

}  // namespace tickstack::disk
