// Receives a whole IPC message as a peer might send it: header, decompression, byte order, then
// everything that reads a body. Besides crashes it detects disagreement: a body that decodes must
// encode to the same bytes; the codec must accept whatever the upd decoder accepts; and compression
// must be reversible.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "wire/codec.h"
#include "wire/compress.h"
#include "wire/ipc.h"
#include "wire/upd.h"

namespace tickstack::wire {
namespace {

constexpr size_t kMessageBytesLimit = size_t{1} << 24;

bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return AsText(a) == AsText(b);
}

// Only lengths that fit are interesting: a connection waits for the length in the header.
void WriteTrueLength(ByteBuffer& message) {
  auto length = static_cast<uint32_t>(message.size());
  if (message.data()[0] == std::byte{0}) length = __builtin_bswap32(length);
  message.data()[3] = std::byte{0};
  std::memcpy(message.data() + 4, &length, sizeof(length));
}

// Returns what a connection makes of a received message; nullopt if it would refuse the message.
std::optional<ByteBuffer> Receive(ByteBuffer message) {
  if (message.size() <= kHeaderBytes) return std::nullopt;
  WriteTrueLength(message);
  const absl::StatusOr<Header> header = ParseHeader(message.span().first<kHeaderBytes>());
  if (!header.ok()) return std::nullopt;
  TS_CHECK(header->total_bytes == message.size());
  if (header->compressed) {
    absl::StatusOr<ByteBuffer> plain = Decompress(message, kMessageBytesLimit);
    if (!plain.ok()) return std::nullopt;
    TS_CHECK(plain->size() <= kMessageBytesLimit);
    message = *std::move(plain);
  }
  ByteBuffer body(message.span().subspan(kHeaderBytes));
  if (!header->little_endian && !ToLittleEndian(body.span()).ok()) return std::nullopt;
  return body;
}

// True if the body is one value.
bool CheckCodec(std::span<const std::byte> body) {
  const absl::StatusOr<std::optional<size_t>> bytes = ValueBytes(body);
  size_t used = 0;
  const absl::StatusOr<Value> prefix = DecodePrefix(body, &used);
  TS_CHECK(prefix.ok() == (bytes.ok() && bytes->has_value()));
  TS_CHECK(Decode(body).ok() == (prefix.ok() && used == body.size()));
  if (!prefix.ok()) return false;
  TS_CHECK(used == **bytes);

  ByteBuffer encoded;
  Encode(*prefix, encoded);
  TS_CHECK(Same(encoded, body.first(used)));
  const absl::StatusOr<size_t> encoded_bytes = EncodedBytes(*prefix);
  TS_CHECK(encoded_bytes.ok() && *encoded_bytes == used);
  TS_CHECK(prefix->count() == Value(*prefix).count());
  return used == body.size();
}

// Sums the bytes of the columns, so that a span outside the body or the decoder's buffer shows.
size_t Touch(const BatchView& batch) {
  size_t sum = 0;
  for (const ColumnView& column : batch.columns) {
    TS_CHECK(column.rows == batch.rows);
    if (IsFixedWidth(column.type))
      TS_CHECK(column.data.size() == column.rows * WidthOf(column.type));
    for (std::byte byte : column.data) sum += std::to_integer<size_t>(byte);
  }
  return sum;
}

void CheckUpd(std::span<const std::byte> body, bool is_value) {
  static UpdDecoder decoder;
  UpdView upd;
  volatile size_t sink = 0;
  for (size_t expected_columns : {0u, 3u}) {
    if (!decoder.Decode(body, &upd, expected_columns).ok()) continue;
    TS_CHECK(is_value);
    TS_CHECK(PeekVerb(body) == upd.verb && PeekUpdTable(body) == upd.table);
    sink = sink + Touch(upd.batch);
    RowsView rows;
    TS_CHECK(decoder.DecodeX(upd.x, &rows, expected_columns).ok());
    sink = sink + Touch(rows.batch);
  }
}

void CheckCompression(std::span<const std::byte> body) {
  ByteBuffer message;
  WriteHeader(message.Extend(kHeaderBytes), MessageKind::kAsync, kHeaderBytes + body.size());
  message.Append(body);
  const std::optional<ByteBuffer> compressed = Compress(message);
  if (!compressed) return;
  const absl::StatusOr<ByteBuffer> plain = Decompress(*compressed, message.size());
  TS_CHECK(plain.ok() && Same(*plain, message));
}

}  // namespace
}  // namespace tickstack::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tickstack::wire;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::optional<tickstack::ByteBuffer> body = Receive(tickstack::ByteBuffer(bytes));
  if (!body) return 0;
  const bool is_value = CheckCodec(*body);
  CheckUpd(*body, is_value);
  CheckCompression(*body);
  return 0;
}
