#include "feed/market/channel_lines.h"

#include "base/status.h"

namespace tickstack::feed::market {

absl::StatusOr<ChannelLines> ChannelLines::Parse(std::span<const std::string> texts) {
  ChannelLines lines;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const auto invalid = [&text](std::string_view found) {
      return InvalidArgument(
          "channels: '{}': {}: expected a channel and its lines, such as "
          "310=224.0.31.11:14320+224.0.32.11:15320",
          text, found);
    };
    if (equals == std::string::npos || equals == 0) return invalid("found no channel");
    std::string_view rest = std::string_view(text).substr(equals + 1);
    for (bool more = true; more;) {
      const size_t plus = rest.find('+');
      more = plus != std::string_view::npos;
      const std::string_view destination = rest.substr(0, plus);
      if (destination.find(':') == std::string_view::npos)
        return invalid("found no port of a line");
      if (!lines.channels_.emplace(destination, text.substr(0, equals)).second) {
        return invalid("found a line that is of a channel already");
      }
      rest.remove_prefix(more ? plus + 1 : rest.size());
    }
  }
  return lines;
}

}  // namespace tickstack::feed::market
