#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tickstack::feed::market {

// A byte of flags as two hexadecimal digits.
class FlagText {
 public:
  explicit FlagText(std::byte flags) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    digits_ = {kDigits[static_cast<size_t>(flags >> 4)],
               kDigits[static_cast<size_t>(flags & std::byte{15})]};
  }
  // Valid as long as this object.
  std::string_view view() const { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, 2> digits_;
};

}  // namespace tickstack::feed::market
