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
  constexpr std::string_view kTexts[] = {
      "", "type", "a\037", "a\037x", "a\037-1", "a\037 1", "a\0371x", "a\03799999999999999999999"};
  for (const std::string_view text : kTexts) {
    EXPECT_EQ(SplitPosition(text).text, text);
    EXPECT_EQ(SplitPosition(text).position, std::nullopt);
  }
}

}  // namespace
}  // namespace tickstack::wire
