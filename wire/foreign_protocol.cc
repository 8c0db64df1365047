#include "wire/foreign_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/byte_buffer.h"
#include "table/value.h"
#include "wire/codec.h"

namespace tickstack::wire {
namespace {

constexpr std::string_view kTlsHandshake("\x16\x03", 2);
constexpr size_t kPostgresHeadBytes = kPostgresQuestionBytes;  // Length, then version or code.
constexpr uint32_t kPostgresTlsCode = 80877103, kPostgresGssCode = 80877104;
constexpr uint32_t kPostgresCancelCode = 80877102;
constexpr uint32_t kPostgresMajor = 3;
constexpr uint16_t kMySqlHandshakeError = 1043;
constexpr size_t kLoginLineMax = 512;  // MySQL shows no longer message.

uint32_t LoadBig(std::string_view bytes) {
  uint32_t number = 0;
  for (const char c : bytes.substr(0, 4)) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

std::string Big(size_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(number >> shift & 0xff));
  }
  return bytes;
}

// A login without a name is a NUL alone, or before a message. A message of that many bytes in the
// other byte order would have to follow for the two to be confused.
std::optional<ForeignProtocol> PostgresIn(std::string_view received) {
  constexpr size_t kStartupBytesMax = 10'000;
  if (received.size() < kPostgresHeadBytes) return std::nullopt;
  const uint32_t bytes = LoadBig(received), code = LoadBig(received.substr(4));
  if (bytes < kPostgresHeadBytes || bytes > kStartupBytesMax) return std::nullopt;
  if (code == kPostgresTlsCode || code == kPostgresGssCode) return ForeignProtocol::kPostgresTls;
  if (code == kPostgresCancelCode || code >> 16 == kPostgresMajor)
    return ForeignProtocol::kPostgres;
  return std::nullopt;
}

std::string_view FirstLine(std::string_view received) {
  return received.substr(0, received.find('\n'));
}

bool IsRedis(std::string_view received) {
  return received.size() >= 2 && received[0] == '*' && received[1] >= '0' && received[1] <= '9';
}

std::string PostgresError(std::string_view line) {
  std::string fields = "SFATAL";
  fields.push_back('\0');
  for (const std::string_view field : {std::string_view("VFATAL"), std::string_view("C08P01")}) {
    fields.append(field).push_back('\0');
  }
  fields.append("M").append(line).push_back('\0');
  fields.push_back('\0');
  return "E" + Big(fields.size() + 4) + fields;
}

// The error packet of a server that refuses before its greeting. Readable in a terminal, too,
// because clients that wait for the server include some that show all that they receive.
std::string MySqlError(std::string_view line) {
  std::string body = "\xff";
  body.push_back(static_cast<char>(kMySqlHandshakeError & 0xff));
  body.push_back(static_cast<char>(kMySqlHandshakeError >> 8));
  body.append(line.substr(0, kLoginLineMax)).append("\n");
  std::string packet;
  for (const int shift : {0, 8, 16})
    packet.push_back(static_cast<char>(body.size() >> shift & 0xff));
  packet.push_back('\0');  // The packet's number.
  return packet + body;
}

// The identification of a server, then SSH_MSG_DISCONNECT, which is not encrypted yet.
std::string SshDisconnect(std::string_view line) {
  constexpr size_t kBlock = 8, kLeastPadding = 4, kProtocolError = 2;
  std::string payload = "\x01" + Big(kProtocolError) + Big(line.size());
  payload.append(line).append(Big(0));
  const size_t unpadded = 4 + 1 + payload.size();
  size_t padding = kBlock - unpadded % kBlock;
  if (padding < kLeastPadding) padding += kBlock;
  return "SSH-2.0-tickstack\r\n" + Big(1 + payload.size() + padding) +
         std::string(1, static_cast<char>(padding)) + payload + std::string(padding, '\0');
}

std::string KdbError(std::string_view line) {
  const ByteBuffer message = EncodeMessage(MessageKind::kResponse, Value::Error(line));
  return std::string(1, static_cast<char>(kRefusedByte)) + std::string(AsText(message.span()));
}

}  // namespace

bool LooksLikeHttp(std::string_view received) {
  constexpr std::array<std::string_view, 9> kBegins = {"GET /",     "HEAD /",   "POST /",
                                                       "PUT /",     "DELETE /", "PATCH /",
                                                       "OPTIONS /", "TRACE /",  "OPTIONS * HTTP"};
  if (std::ranges::any_of(
          kBegins, [received](std::string_view begin) { return received.starts_with(begin); })) {
    return true;
  }
  const std::string_view line = FirstLine(received);
  return line.size() < received.size() && line.find('\0') == std::string_view::npos &&
         line.find(" HTTP/") != std::string_view::npos;
}

std::optional<ForeignProtocol> ForeignProtocolIn(std::string_view received) {
  if (received.starts_with(kTlsHandshake)) return ForeignProtocol::kTls;
  if (const auto postgres = PostgresIn(received)) return postgres;
  if (LooksLikeHttp(received)) return ForeignProtocol::kHttp;
  if (received.find('\0') != std::string_view::npos) return std::nullopt;  // A login.
  if (received.find('\n') == std::string_view::npos) return std::nullopt;
  if (received.starts_with("SSH-")) return ForeignProtocol::kSsh;
  return IsRedis(received) ? ForeignProtocol::kRedis : ForeignProtocol::kText;
}

std::string_view NameOf(ForeignProtocol protocol) {
  switch (protocol) {
    case ForeignProtocol::kTls:
      return "TLS";
    case ForeignProtocol::kPostgresTls:
    case ForeignProtocol::kPostgres:
      return "PostgreSQL's protocol";
    case ForeignProtocol::kMySql:
      return "nothing";
    case ForeignProtocol::kRedis:
      return "Redis' protocol";
    case ForeignProtocol::kSsh:
      return "SSH";
    case ForeignProtocol::kHttp:
      return "HTTP";
    case ForeignProtocol::kText:
      return "a line of text";
    case ForeignProtocol::kKdb:
      return "kdb+ IPC";
  }
  return "";
}

std::string RefusalIn(ForeignProtocol protocol, std::string_view line) {
  switch (protocol) {
    case ForeignProtocol::kPostgresTls:
      return "N";  // No TLS.
    case ForeignProtocol::kPostgres:
      return PostgresError(line);
    case ForeignProtocol::kMySql:
      return MySqlError(line);
    case ForeignProtocol::kRedis:
      return fmt::format("-ERR {}\r\n", line);
    case ForeignProtocol::kSsh:
      return SshDisconnect(line);
    case ForeignProtocol::kHttp:
      return fmt::format(
          "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
          "Content-Length: {}\r\nConnection: close\r\n\r\n{}\n",
          line.size() + 1, line);
    case ForeignProtocol::kTls:
    case ForeignProtocol::kText:
      return fmt::format("{}\n", line);
    case ForeignProtocol::kKdb:
      return KdbError(line);
  }
  return "";
}

}  // namespace tickstack::wire
