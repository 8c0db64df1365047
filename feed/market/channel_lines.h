#pragma once

// Which destinations of packets are lines of which channel, for protocols whose packets do not say.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::feed::market {

class ChannelLines {
 public:
  // Parses a text for each channel, such as `310=224.0.31.11:14320+224.0.32.11:15320`.
  // kInvalidArgument for other texts, and if a destination is of two channels.
  static absl::StatusOr<ChannelLines> Parse(std::span<const std::string> texts);

  bool empty() const { return channels_.empty(); }
  // Returns the channel of a destination; nullptr if it is of none.
  const std::string* Find(std::string_view destination) const {
    const auto found = channels_.find(destination);
    return found == channels_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> channels_;  // By destination.
};

}  // namespace tickstack::feed::market
