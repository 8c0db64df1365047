#include "table/splayed_table.h"

#include <utility>

#include "base/status.h"

namespace tickstack {

SplayedTable::SplayedTable(std::string directory, std::vector<std::string> names,
                           std::shared_ptr<const SymbolDomains> domains)
    : directory_(std::move(directory)),
      names_(std::move(names)),
      domains_(std::move(domains)),
      files_(names_.size()),
      opened_(std::make_unique<std::atomic<const ColumnFile*>[]>(names_.size())) {}

SplayedTable::~SplayedTable() = default;

absl::StatusOr<std::shared_ptr<const SplayedTable>> SplayedTable::Open(
    std::string directory, std::shared_ptr<const SymbolDomains> domains) {
  TS_ASSIGN_OR_RETURN(std::vector<std::string> names, ReadColumnNames(directory + "/.d"));
  return std::shared_ptr<const SplayedTable>(
      new SplayedTable(std::move(directory), std::move(names), std::move(domains)));
}

int SplayedTable::Find(std::string_view column) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == column) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<const ColumnFile*> SplayedTable::OpenOnce(size_t i) const {
  if (const ColumnFile* column = opened_[i].load(std::memory_order_acquire)) return column;
  const std::lock_guard lock(mutex_);
  if (files_[i] == nullptr) {
    TS_ASSIGN_OR_RETURN(files_[i], ColumnFile::Open(directory_ + "/" + names_[i], domains_));
    opened_[i].store(files_[i].get(), std::memory_order_release);  // Pairs with the load above.
  }
  return files_[i].get();
}

absl::StatusOr<uint64_t> SplayedTable::Rows() const {
  absl::Status first_error;
  for (size_t i = 0; i < columns(); ++i) {
    const absl::StatusOr<const ColumnFile*> column = OpenOnce(i);
    if (column.ok()) return (*column)->rows();
    if (first_error.ok()) first_error = column.status();
  }
  TS_RETURN_IF_ERROR(first_error);
  return 0;  // A table without columns.
}

absl::StatusOr<const ColumnFile*> SplayedTable::Column(size_t i) const {
  TS_ASSIGN_OR_RETURN(const ColumnFile* const column, OpenOnce(i));
  TS_ASSIGN_OR_RETURN(const uint64_t rows, Rows());
  if (column->rows() != rows) {
    return DataLoss("{}: {} rows, the columns before it have {}", column->path(), column->rows(),
                    rows);
  }
  return column;
}

}  // namespace tickstack
