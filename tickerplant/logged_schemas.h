#pragma once

// Whether the rows that a log has already are of the tables as they are configured now. A table
// whose columns change within a day would leave a log that no table can hold: an RDB could not
// replay it, and its day could not be written.

#include <span>
#include <string>

#include "absl/status/status.h"
#include "table/schema.h"

namespace tickstack::tickerplant {

// kFailedPrecondition, naming table, message, what the row is and what the schema expects: the last
// rows of a table in the log do not fit its schema. Tables without rows, or without a schema, pass;
// so does what cannot be read, which others report. Cost: reads the index, and a block a table.
absl::Status CheckLoggedSchemas(const std::string& log_path, std::span<const Schema> schemas);

}  // namespace tickstack::tickerplant
