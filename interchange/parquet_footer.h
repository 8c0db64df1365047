#pragma once

// The end of a Parquet file: its schema, and where the pages of each group of rows are. See
// parquet.h.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/parquet_pages.h"

namespace tickstack::interchange::parquet {

inline constexpr std::string_view kMagic = "PAR1";  // At both ends of a file.

struct RowGroup {
  size_t rows = 0;
  std::vector<Chunk> chunks;  // One per column.
};

// A text that readers ignore, under a name.
struct Remark {
  std::string key;
  std::string value;
};

// Returns what follows the pages of a file: the footer, its length and kMagic.
std::string FileEnd(std::span<const ColumnSchema> columns, std::span<const RowGroup> groups,
                    std::span<const Remark> remarks = {});

}  // namespace tickstack::interchange::parquet
