#pragma once

// Elements of a fixed width as pages of a Parquet file, for exports (parquet_stored_column.h).

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "interchange/parquet_pages.h"
#include "table/types.h"

namespace tickstack::interchange::parquet {

// Which types a file may have.
enum class Dialect : uint8_t {
  kExact,  // Those that lose nothing.
  kSpark,  // Those that Spark reads.
};

// Returns the types of a column in the file. Texts: also for kSymbol and kList.
ColumnSchema ExportSchema(std::string_view name, Type type, Dialect dialect);

// Appends the pages of elements of a type of fixed width, given as little-endian bytes.
//
// Errors:  kInvalidArgument for an element that the type in the file cannot hold; the message
// begins
//          with the element's row, where the first one has number `first_row`.
// Cost:    one pass, and compression.
absl::Status WriteElements(Type type, Dialect dialect, std::span<const std::byte> elements,
                           uint64_t first_row, PageWriter& pages, Chunk& chunk);

}  // namespace tickstack::interchange::parquet
