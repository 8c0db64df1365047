#include "feed/live/udp_line.h"

#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::feed::live {
namespace {

TEST(UdpLineTest, ReadsAnAddressAPortAndAnInterface) {
  const absl::StatusOr<UdpLine> line = ParseUdpLine("239.1.2.3:5000", "");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->ToString(), "239.1.2.3:5000");
  EXPECT_TRUE(line->is_group());
  EXPECT_EQ(InterfaceIndex(*line), 0);
  EXPECT_FALSE(ParseUdpLine("10.1.2.3:5000", "")->is_group());
  const absl::StatusOr<UdpLine> own = ParseUdpLine("239.1.2.3:65535@lo", "none0");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->interface, "lo");
  EXPECT_GT(InterfaceIndex(*own), 0);
  EXPECT_EQ(ParseUdpLine("239.1.2.3:1", "lo")->interface, "lo");
}

TEST(UdpLineTest, RefusesOtherTexts) {
  for (const char* const text :
       {"", "239.1.2.3", "239.1.2.3:", "239.1.2.3:0", "239.1.2.3:65536", "239.1.2.3:5000x",
        "239.1.2:5000", "host:5000", ":5000", "[ff15::1]:5000", "239.1.2.3:5000 "}) {
    const absl::StatusOr<UdpLine> line = ParseUdpLine(text, "");
    ASSERT_FALSE(line.ok()) << text;
    EXPECT_NE(Message(line.status()).find("expected an IPv4 address and a port"),
              std::string::npos);
  }
  EXPECT_EQ(Message(ParseUdpLine("239.1.2.3:1", "none0").status()),
            "239.1.2.3:1: this machine has no interface 'none0' (`ip link` lists them)");
}

}  // namespace
}  // namespace tickstack::feed::live
