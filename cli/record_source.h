#pragma once

// A file whose records become rows of a table: CSV, or Arrow's format.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "cli/import_mapping.h"

namespace tickstack::cli {

// Threads: one owner.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Opens a file: in Arrow's format if it begins as such files do, otherwise CSV. The mapping must
  // outlive the source. Errors name the file.
  static absl::StatusOr<std::unique_ptr<RecordSource>> Open(const std::string& path,
                                                            const ImportMapping& mapping);

  // Returns the number of the column that a mapping names. kInvalidArgument, without the place, if
  // there is none, or several.
  virtual absl::StatusOr<size_t> PlaceOf(const std::string& from) const = 0;
  // Reads the next record. Returns false at the end. Errors name the place.
  virtual absl::StatusOr<bool> Next() = 0;
  // Appends a field of the record to a column of a table. kInvalidArgument, without the place, if
  // it is not a value of the column's type.
  virtual absl::Status Append(const MappedColumn& column, size_t place, ByteBuffer& out) const = 0;
  // Returns an error with the place of the record.
  virtual absl::Status ErrorAt(std::string_view what) const = 0;
};

absl::StatusOr<std::unique_ptr<RecordSource>> OpenCsv(const std::string& path,
                                                      const ImportMapping& mapping);
absl::StatusOr<std::unique_ptr<RecordSource>> OpenArrow(const std::string& path,
                                                        const ImportMapping& mapping);

}  // namespace tickstack::cli
