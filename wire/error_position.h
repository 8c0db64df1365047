#pragma once

// The position of an error in the text of a query. kdb+ IPC has no room for it: an error is a text.
// The gateway for HTTP gets the position behind that text, and gives it to browsers; other clients
// get the text alone.
//
//   type <1f> 1 2      the error `type` at byte 12 of the query

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tickstack::wire {

struct PositionedError {
  std::string_view text;
  std::optional<size_t> position;
};

// Returns the text as the gateway receives it.
std::string JoinPosition(std::string_view text, size_t position);

// Returns the parts of a received text; one without a position is whole.
PositionedError SplitPosition(std::string_view received);

}  // namespace tickstack::wire
