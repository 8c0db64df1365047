#include "wire/error_position.h"

#include <gtest/gtest.h>

namespace tickstack::wire {
namespace {

TEST(ErrorPosition, IsSplitFromTheTextThatItWasJoinedTo) {
  for (const size_t position : {size_t{0}, size_t{12}, SIZE_MAX}) {
    const std::string joined = JoinPosition("nyi: x", position);
    EXPECT_EQ(SplitPosition(joined).text, "nyi: x");
    EXPECT_EQ(SplitPosition(joined).position, position);
  }
}

TEST(ErrorPosition, IsMissingInOtherTexts) {
  for (const std::string_view text : {"", "type", "a\x1f", "a\x1fx", "a\x1f-1", "a\x1f 1",
                                      "a\x1f"
                                      "1x",
                                      "a\x1f99999999999999999999"}) {
    EXPECT_EQ(SplitPosition(text).text, text);
    EXPECT_EQ(SplitPosition(text).position, std::nullopt);
  }
}

}  // namespace
}  // namespace tickstack::wire
