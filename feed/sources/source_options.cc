#include "feed/sources/source_options.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>

#include "base/crc32c.h"

namespace tickstack::feed {

SourceOption BatchRowsOption(int64_t* field) {
  return {"batch_rows", "largest number of rows in a message", field, 1, kBatchRowsMax};
}

std::string ShortName(std::string text) {
  constexpr size_t kShortBytes = 64;
  if (text.size() <= kShortBytes) return text;
  return fmt::format("{:08x}", Crc32c(std::as_bytes(std::span(text))));
}

std::string NumberedName(std::string_view feed, const SourceOptions& options,
                         std::string_view rows_id) {
  return fmt::format("{}@{}{}{}", feed, options.RowsName(), rows_id.empty() ? "" : ".", rows_id);
}

}  // namespace tickstack::feed
