#pragma once

// The headers of a Kafka record that the bridge writes. Values are text, so that any consumer can
// read them.
//
//   table    the table's name
//   schema   hash of its columns' names and types (SchemaHash)
//   log      file name of the tickerplant's log that the rows are from
//   first    number of the first row in this partition, from 0, over all logs
//   rows     number of rows
//   payload  ipc, arrow, json or avro
//   control  `end-of-day`, only in records without rows; then `date` has the day

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace tickstack::bridge {

struct RecordHeaders {
  std::string table;
  std::string schema;
  std::string log;
  int64_t first_row = 0;
  int64_t rows = 0;
  std::optional<int32_t> ended_day;  // Days since 2000-01-01.
  std::string payload;

  rd_kafka_headers_t* Encode() const;  // The caller owns it.
  // kInvalidArgument, with the header, if one is missing or wrong.
  static absl::StatusOr<RecordHeaders> Of(const rd_kafka_message_t* message);
};

}  // namespace tickstack::bridge
