#include "feed/sources/mdp3_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::feed {
namespace {

using testing::HasSubstr;

TEST(Mdp3Options, SaysWhichOptionIsWrong) {
  Mdp3Options options;
  EXPECT_THAT(std::string(Message(options.Open().status())), HasSubstr("--path is missing"));
  options.path = "/nowhere/cme.pcap";
  EXPECT_THAT(std::string(Message(options.Open().status())), HasSubstr("/nowhere/cme.pcap"));
  options.channels = {"224.0.31.11:14320"};
  EXPECT_THAT(std::string(Message(options.Open().status())), HasSubstr("found no channel"));
}

// A feed that continues must not take rows of one channel for those of another.
TEST(Mdp3Options, RowsOfOtherLinesHaveAnotherName) {
  Mdp3Options options, other;
  other.channels = {"310=224.0.31.11:14320"};
  EXPECT_NE(options.RowsName(), other.RowsName());
}

}  // namespace
}  // namespace tickstack::feed
