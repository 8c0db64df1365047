#include "bridge/record_headers.h"

#include <charconv>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::bridge {
namespace {

constexpr std::string_view kEndOfDayControl = "end-of-day";

void AddHeader(rd_kafka_headers_t* headers, const char* name, const std::string& value) {
  rd_kafka_header_add(headers, name, -1, value.data(), static_cast<ssize_t>(value.size()));
}

std::optional<std::string> FindHeader(const rd_kafka_headers_t* headers, const char* name) {
  const void* value = nullptr;
  size_t size = 0;
  if (rd_kafka_header_get_last(headers, name, &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR ||
      value == nullptr) {
    return std::nullopt;
  }
  return std::string(static_cast<const char*>(value), size);
}

absl::StatusOr<int64_t> FindNumber(const rd_kafka_headers_t* headers, const char* name) {
  const std::optional<std::string> text = FindHeader(headers, name);
  if (!text) return InvalidArgument("no header {}", name);
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  constexpr int64_t kNumberMax = int64_t{1} << 60;
  if (error != std::errc() || end != text->data() + text->size() || number < 0 ||
      number > kNumberMax) {
    return InvalidArgument("header {}: expected a number from 0", name);
  }
  return number;
}

}  // namespace

rd_kafka_headers_t* RecordHeaders::Encode() const {
  constexpr size_t kHeaders = 8;
  rd_kafka_headers_t* const headers = rd_kafka_headers_new(kHeaders);
  AddHeader(headers, "table", table);
  AddHeader(headers, "schema", schema);
  AddHeader(headers, "log", log);
  AddHeader(headers, "first", std::to_string(first_row));
  AddHeader(headers, "rows", std::to_string(rows));
  AddHeader(headers, "payload", payload);
  if (ended_day) {
    AddHeader(headers, "control", std::string(kEndOfDayControl));
    AddHeader(headers, "date", FormatDate(*ended_day));
  }
  return headers;
}

absl::StatusOr<RecordHeaders> RecordHeaders::Of(const rd_kafka_message_t* message) {
  rd_kafka_headers_t* list = nullptr;
  if (rd_kafka_message_headers(message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return InvalidArgument("no headers: a to-kafka bridge did not write it");
  }
  RecordHeaders headers;
  TS_ASSIGN_OR_RETURN(headers.first_row, FindNumber(list, "first"));
  TS_ASSIGN_OR_RETURN(headers.rows, FindNumber(list, "rows"));
  headers.table = FindHeader(list, "table").value_or("");
  headers.schema = FindHeader(list, "schema").value_or("");
  headers.log = FindHeader(list, "log").value_or("");
  headers.payload = FindHeader(list, "payload").value_or("");
  if (const std::optional<std::string> control = FindHeader(list, "control")) {
    if (*control != kEndOfDayControl) {
      return InvalidArgument("header control: expected {}", kEndOfDayControl);
    }
    headers.ended_day = ParseDate(FindHeader(list, "date").value_or("")).value_or(0);
  }
  return headers;
}

}  // namespace tickstack::bridge
