#pragma once

// What clients of other protocols send first when they are pointed at a port for kdb+ IPC, and how
// to tell them so in their own protocol, so that their user reads a line.
//
//   client                begins with                   sees
//   psql                  SSLRequest, StartupMessage    FATAL: LINE
//   mysql                 nothing: the server begins    ERROR 1043: LINE, after the deadline
//   redis-cli             *1\r\n$4\r\nPING\r\n          (error) ERR LINE
//   ssh                   SSH-2.0-...                   Received disconnect: LINE
//   a browser, curl       GET / HTTP/1.1                the page LINE, if the port has no HTTP
//   telnet, nc            a line of text                LINE
//   a TLS client          a handshake record            its error for bytes that are not TLS
//   a kdb+ client         user:password                 the error LINE of its first call
//
// A kdb+ client is refused like this only if the port requires TLS. Its first byte from the server,
// the capability, is kRefusedByte, which our own clients recognise. A response with the error
// follows.
//
// Threads: any.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickstack::wire {

enum class ForeignProtocol : uint8_t {
  kTls,
  kPostgresTls,  // The question whether the server uses TLS; the client goes on after the answer.
  kPostgres,
  kMySql,
  kRedis,
  kSsh,
  kHttp,
  kText,  // A line of text.
  kKdb,
};

inline constexpr uint8_t kRefusedByte = 0x7f;
inline constexpr size_t kPostgresQuestionBytes = 8;  // Those of kPostgresTls.

// Returns the protocol that `received`, all that a client has sent, begins; nullopt if it may still
// become a kdb+ login. Never kKdb, and kMySql neither.
std::optional<ForeignProtocol> ForeignProtocolIn(std::string_view received);

// True if the received bytes begin an HTTP request: a method, a blank and a slash, or a first line
// that ends with a version of HTTP. No user name of a kdb+ login begins like that.
bool LooksLikeHttp(std::string_view received);

std::string_view NameOf(ForeignProtocol protocol);

// Returns the bytes that show `line` to a client of the protocol. The connection ends after them,
// except for kPostgresTls, whose client shows only the refusal of its next message.
std::string RefusalIn(ForeignProtocol protocol, std::string_view line);

}  // namespace tickstack::wire
