#include "wire/foreign_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tickstack::wire {
namespace {

using enum ForeignProtocol;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ForeignProtocol, IsRecognisedByItsFirstBytes) {
  const auto bytes = [](std::string_view text, size_t size) {
    return std::string(text.data(), size);
  };
  const std::pair<std::string, std::optional<ForeignProtocol>> cases[] = {
      {bytes("\x16\x03\x01\x02\x00\x01", 6), kTls},
      {bytes("\0\0\0\x08\x04\xd2\x16\x2f", 8), kPostgresTls},                // sslmode
      {bytes("\0\0\0\x08\x04\xd2\x16\x30", 8), kPostgresTls},                // gssencmode
      {bytes("\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\2", 16), kPostgres},  // A cancellation.
      {bytes("\0\0\0\x13\0\3\0\0user\0bob\0\0\0", 19), kPostgres},
      {bytes("\0\0\0\x13\0\3\0\2user\0bob\0\0\0", 19), kPostgres},
      {"*1\r\n$4\r\nPING\r\n", kRedis},
      {"PING\r\n", kText},
      {"SSH-2.0-OpenSSH_9.2\r\n", kSsh},
      {"EHLO example.com\r\n", kText},
      {"select * from trade;\n", kText},
      {"GET /", kHttp},
      {"TRACE / HTTP/1.1\r\n", kHttp},
      {"CONNECT a:443 HTTP/1.1\r\n", kHttp},
      {"GET http://localhost/ HTTP/1.1\r\n", kHttp},
      {"OPTIONS * HTTP/1.1\r\n", kHttp},
      {"PROPFIND /a HTTP/1.1\r\n", kHttp},
      {"get / http HTTP/1.1\r\n", kHttp},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", kHttp},
      // Logins, whole and in parts.
      {bytes("u:p\x03\0", 5), std::nullopt},
      {bytes("\0", 1), std::nullopt},
      {bytes("\x03\0", 2), std::nullopt},
      {bytes("\0\1\1\0\0\x0d\0\0\0\xfa\1\0\0\0", 14), std::nullopt},  // No name, then a message.
      {bytes("\0\0\1\0\0\0\0\0\x0d\xfa\0\0\0\1", 14), std::nullopt},  // A big-endian message.
      {bytes("SSH-:a\nb\x03\0", 10), std::nullopt},
      {bytes("*1:a\nb\x03\0", 8), std::nullopt},
      {bytes("u:p\n HTTP/\x03\0", 12), std::nullopt},
      {"GET", std::nullopt},
      {"TRACE", std::nullopt},
      {"SSH-2.0-Open", std::nullopt},
      {"u:p", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [received, expected] : cases) {
    EXPECT_EQ(ForeignProtocolIn(received), expected) << testing::PrintToString(received);
  }
}

TEST(ForeignProtocol, AddsTheLineToTheProtocol) {
  const std::string line = "this is tickstack";
  EXPECT_EQ(RefusalIn(kText, line), line + "\n");
  EXPECT_EQ(RefusalIn(kRedis, line), "-ERR " + line + "\r\n");
  EXPECT_EQ(RefusalIn(kPostgresTls, line), "N");

  const std::string postgres = RefusalIn(kPostgres, line);
  EXPECT_EQ(postgres[0], 'E');
  EXPECT_EQ(static_cast<size_t>(postgres[4]) + 1, postgres.size());
  EXPECT_THAT(postgres, HasSubstr("M" + line + std::string(2, '\0')));

  const std::string mysql = RefusalIn(kMySql, line);
  EXPECT_EQ(static_cast<size_t>(mysql[0]) + 4, mysql.size());
  EXPECT_EQ(mysql[4], '\xff');
  EXPECT_THAT(mysql, EndsWith(line + "\n"));

  const std::string ssh = RefusalIn(kSsh, line);
  constexpr std::string_view kName = "SSH-2.0-tickstack\r\n";
  EXPECT_THAT(ssh, StartsWith(kName));
  const std::string packet = ssh.substr(kName.size());
  EXPECT_EQ(packet.size() % 8, 0u);
  EXPECT_EQ(static_cast<size_t>(packet[3]) + 4, packet.size());
  EXPECT_THAT(packet, HasSubstr(line));

  const std::string http = RefusalIn(kHttp, line);
  EXPECT_THAT(http, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(http, HasSubstr("Content-Length: 18\r\n"));
  EXPECT_THAT(http, EndsWith("\r\n\r\n" + line + "\n"));

  const std::string kdb = RefusalIn(kKdb, line);
  EXPECT_EQ(static_cast<uint8_t>(kdb[0]), kRefusedByte);
  EXPECT_EQ(kdb[2], 2) << "a response";
  EXPECT_THAT(kdb, EndsWith("\x80" + line + std::string(1, '\0')));
}

}  // namespace
}  // namespace tickstack::wire
