#include "cli/listener_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/status.h"

namespace tickstack::cli {
namespace {

absl::StatusOr<wire::ListenerOptions> Read(const std::string& text) {
  TS_ASSIGN_OR_RETURN(const Config config, Config::Parse(text, "stack.toml"));
  wire::ListenerOptions listener;
  TS_RETURN_IF_ERROR(ReadListener(config.root(), listener));
  TS_RETURN_IF_ERROR(config.CheckUnusedKeys());
  return listener;
}

std::string ErrorOf(const std::string& text) { return std::string(Message(Read(text).status())); }

TEST(ListenerConfig, ReadsEachKey) {
  const auto listener = Read(
      "host = 'localhost'\nport = 5011\nunix_socket = true\nhttp = true\nmax_connections = 7\n"
      "http_origins = ['https://grafana.example']");
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(listener->host, "localhost");
  EXPECT_EQ(listener->port, 5011);
  EXPECT_TRUE(listener->unix_socket);
  EXPECT_EQ(listener->max_connections, 7u);
  EXPECT_EQ(listener->http, true);
  EXPECT_THAT(listener->http_origins, testing::ElementsAre("https://grafana.example"));
}

TEST(ListenerConfig, LeavesDefaultsOfAbsentKeys) {
  const auto listener = Read("");
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(listener->host, "127.0.0.1");
  EXPECT_FALSE(listener->http.has_value());
}

TEST(ListenerConfig, NamesTheKeyThatIsWrong) {
  EXPECT_THAT(ErrorOf("port = 70000"), testing::HasSubstr("port: expected an integer from 0 to"));
  EXPECT_THAT(ErrorOf("http_origins = ['*']"),
              testing::HasSubstr("http_origins: expected an origin"));
  EXPECT_THAT(ErrorOf("host = '0.0.0.0'\nhttp_origins = ['http://x:3000']"),
              testing::HasSubstr("http_origins: needs http = true"));
}

TEST(ListenerConfig, FlagsOverrideWhatWasRead) {
  auto listener = Read("host = 'localhost'\nport = 5011");
  ASSERT_TRUE(listener.ok()) << listener.status();
  CLI::App command;
  AddListenerFlags(command, *listener);
  command.parse("--port 6011 --unix-socket --max-connections 9");
  EXPECT_EQ(listener->max_connections, 9u);
  EXPECT_EQ(listener->host, "localhost");
  EXPECT_EQ(listener->port, 6011);
  EXPECT_TRUE(listener->unix_socket);
  EXPECT_THROW(command.parse("--port 70000"), CLI::ValidationError);
}

}  // namespace
}  // namespace tickstack::cli
