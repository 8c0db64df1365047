#include "disk/splayed_table.h"

#include <utility>

#include "base/status.h"

namespace tickstack::disk {

SplayedTable::SplayedTable(std::string directory, std::vector<std::string> names,
                           std::shared_ptr<const SymbolDomains> domains,
                           std::shared_ptr<const ChecksumFile> checksums)
    : directory_(std::move(directory)),
      names_(std::move(names)),
      domains_(std::move(domains)),
      checksums_(std::move(checksums)),
      files_(names_.size()),
      entry_(this) {}

SplayedTable::~SplayedTable() = default;

absl::StatusOr<std::shared_ptr<const SplayedTable>> SplayedTable::Open(
    std::string directory, std::shared_ptr<const SymbolDomains> domains) {
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const ChecksumFile> checksums,
                      ChecksumFile::Open(fmt::format("{}/{}", directory, kChecksumName)));
  TS_ASSIGN_OR_RETURN(std::vector<std::string> names,
                      ReadColumnNames(directory + "/.d", checksums.get()));
  return std::shared_ptr<const SplayedTable>(new SplayedTable(
      std::move(directory), std::move(names), std::move(domains), std::move(checksums)));
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

absl::StatusOr<std::shared_ptr<const ColumnFile>> SplayedTable::OpenOnce(size_t i) const {
  if (std::shared_ptr<const ColumnFile> file = FindOpen(i)) return file;
  const std::lock_guard opening(opening_);
  if (std::shared_ptr<const ColumnFile> file = FindOpen(i)) return file;
  // This may call Evict again, for lack of mappings.
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const ColumnFile> file,
                      ColumnFile::Open(directory_ + "/" + names_[i], domains_, checksums_.get()));
  const std::lock_guard lock(mutex_);
  files_[i] = file;
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
