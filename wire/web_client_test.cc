#include "wire/web_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::wire {
namespace {

using testing::HasSubstr;

TEST(WebAddress, HasThePortOfItsScheme) {
  const WebAddress address = *ParseWebAddress("wss://ws.kraken.com/v2?token=x");
  EXPECT_EQ(address.host, "ws.kraken.com");
  EXPECT_EQ(address.port, 443);
  EXPECT_EQ(address.target, "/v2?token=x");
  EXPECT_EQ(address.Host(), "ws.kraken.com");
  EXPECT_EQ(address.ToString(), "wss://ws.kraken.com/v2?token=x");
  EXPECT_EQ(address.Name(), "wss://ws.kraken.com/v2");
  EXPECT_TRUE(address.tls());
  EXPECT_TRUE(address.is_web_socket());
}

TEST(WebAddress, TakesNamesNumbersAndPorts) {
  for (const std::string_view text :
       {"ws://localhost:80/", "ws://localhost/", "http://127.0.0.1:8080/a/b?c=d&e=f",
        "https://[::1]:9443/", "https://[::1]/", "ws://h?x", "ws://h"}) {
    const absl::StatusOr<WebAddress> address = ParseWebAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    // What it is written as is the same address.
    EXPECT_EQ(ParseWebAddress(address->ToString())->ToString(), address->ToString());
  }
  EXPECT_EQ(ParseWebAddress("ws://localhost:80/")->ToString(), "ws://localhost/");
  EXPECT_EQ(ParseWebAddress("https://[::1]:9443/")->host, "::1");
  EXPECT_EQ(ParseWebAddress("https://[::1]:9443/")->Host(), "[::1]:9443");
  EXPECT_EQ(ParseWebAddress("ws://h?x")->target, "/?x");
  EXPECT_FALSE(ParseWebAddress("ws://h")->tls());
  EXPECT_FALSE(ParseWebAddress("http://h")->is_web_socket());
}

TEST(WebAddress, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "kraken.com", "ftp://h/", "ws://", "ws:///x", "ws://h:/", "ws://h:0/", "ws://h:65536/",
        "ws://h:1x/", "ws://[::1", "ws://[::1]9/", "ws://[::1]:/", "ws://u:p@h/", "ws://h/ x",
        "ws://h/#x", "ws://h/\n", "WS://h/"}) {
    EXPECT_THAT(std::string(Message(ParseWebAddress(text).status())), HasSubstr("wss://host"))
        << text;
  }
}

}  // namespace
}  // namespace tickstack::wire
