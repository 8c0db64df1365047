#include "bridge/payload.h"

#include <string>

#include "base/status.h"
#include "interchange/arrow_stream.h"
#include "interchange/avro_file.h"
#include "table/format_value.h"
#include "wire/codec.h"
#include "wire/ipc.h"

namespace tickstack::bridge {
namespace {

constexpr Payload kPayloads[] = {Payload::kIpc, Payload::kArrow, Payload::kJson, Payload::kAvro};

}  // namespace

std::string_view NameOf(Payload payload) {
  switch (payload) {
    case Payload::kIpc:
      return "ipc";
    case Payload::kArrow:
      return "arrow";
    case Payload::kJson:
      return "json";
    case Payload::kAvro:
      return "avro";
  }
  return "";
}

absl::StatusOr<Payload> ParsePayload(std::string_view text) {
  for (const Payload payload : kPayloads) {
    if (text == NameOf(payload)) return payload;
  }
  return InvalidArgument("payload {}: expected ipc, arrow, json or avro", text);
}

absl::StatusOr<std::span<const std::byte>> BodyOf(std::span<const std::byte> ipc) {
  if (ipc.size() < wire::kHeaderBytes) {
    return InvalidArgument("a payload of {} bytes: expected a kdb+ IPC message", ipc.size());
  }
  TS_ASSIGN_OR_RETURN(const wire::Header header,
                      wire::ParseHeader(ipc.first<wire::kHeaderBytes>()));
  if (!header.little_endian || header.compressed || header.total_bytes != ipc.size()) {
    return InvalidArgument(
        "a payload of {} bytes: expected one uncompressed little-endian kdb+ IPC message",
        ipc.size());
  }
  return ipc.subspan(wire::kHeaderBytes);
}

absl::StatusOr<ByteBuffer> ConvertPayload(std::string_view table, std::span<const std::byte> ipc,
                                          Payload payload) {
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> body, BodyOf(ipc));
  if (payload == Payload::kIpc) return ByteBuffer(ipc);
  TS_ASSIGN_OR_RETURN(const Value rows, wire::Decode(body));
  if (payload == Payload::kJson) return ByteBuffer(AsBytes(FormatJson(rows)));
  const absl::StatusOr<std::string> converted = payload == Payload::kArrow
                                                    ? interchange::FormatArrow(rows)
                                                    : interchange::FormatAvro(table, rows);
  if (!converted.ok()) {
    return Annotate(converted.status(),
                    fmt::format("table {}, payload {}", table, NameOf(payload)));
  }
  return ByteBuffer(AsBytes(*converted));
}

}  // namespace tickstack::bridge
