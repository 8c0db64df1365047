#pragma once

// What the value of a Kafka record is.
//
//   ipc    a kdb+ IPC message whose body is a table: `-9!` in q
//   arrow  a stream in Arrow's format
//   json   an array of objects, a row each
//   avro   an Avro object container file (interchange/avro_file.h)

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"

namespace tickstack::bridge {

enum class Payload : uint8_t { kIpc, kArrow, kJson, kAvro };
std::string_view NameOf(Payload payload);
// kInvalidArgument if it is none of these.
absl::StatusOr<Payload> ParsePayload(std::string_view text);

// Converts a payload of kind ipc, which the bridge made of rows of `table`. kInvalidArgument, with
// table and column, for rows that the kind cannot hold: see FormatArrow and FormatAvro.
absl::StatusOr<ByteBuffer> ConvertPayload(std::string_view table, std::span<const std::byte> ipc,
                                          Payload payload);

// Returns the table in a payload of kind ipc. kInvalidArgument if the bytes are not one whole
// uncompressed little-endian message.
absl::StatusOr<std::span<const std::byte>> BodyOf(std::span<const std::byte> ipc);

}  // namespace tickstack::bridge
