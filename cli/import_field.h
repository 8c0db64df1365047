#pragma once

// Parses a field of a CSV file as an element of a column.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "cli/import_mapping.h"

namespace tickstack::cli {

// Appends a field to a column, as ColumnView has its bytes. `is_null`: the field stands for null,
// which a boolean and a string do not have. kInvalidArgument, without the place, if the text is not
// a value of the column's type: unlike in q, it does not become null.
absl::Status AppendField(const MappedColumn& column, std::string_view text, bool is_null,
                         ByteBuffer& out);

// True if the mapping says that a field is null.
bool IsNullField(const ImportMapping& mapping, std::string_view field);

// Returns days since 2000, of a date in the forms of q and ISO 8601 or in `format`.
absl::StatusOr<int32_t> ReadDate(std::string_view text, const std::string& format);

}  // namespace tickstack::cli
