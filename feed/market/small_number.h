#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace tickstack::feed::market {

// A byte as a decimal number of up to three digits.
class SmallNumber {
 public:
  explicit SmallNumber(std::byte value) {
    length_ = static_cast<size_t>(
        std::to_chars(digits_.data(), digits_.data() + digits_.size(), static_cast<int>(value))
            .ptr -
        digits_.data());
  }
  // Valid as long as this object.
  std::string_view view() const { return {digits_.data(), length_}; }

 private:
  std::array<char, 3> digits_;
  size_t length_;
};

}  // namespace tickstack::feed::market
