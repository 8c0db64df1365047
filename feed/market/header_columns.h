#pragma once

// The columns of a text file whose first line names them. Columns are found by name, never by
// position: versions of a format add and move columns.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::feed::market {

class HeaderColumns {
 public:
  HeaderColumns() = default;
  HeaderColumns(std::string_view header, char delimiter);

  // Returns the position of a column, from 0; nullopt if there is none.
  std::optional<size_t> Find(std::string_view name) const;
  // Returns the position of a column. kDataLoss, with the column and the header, if there is none,
  // or two.
  absl::StatusOr<size_t> Need(std::string_view name) const;

  size_t count() const { return names_.size(); }

 private:
  std::string header_;
  std::vector<std::string> names_;
};

}  // namespace tickstack::feed::market
