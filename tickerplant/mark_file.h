#pragma once

// Small files that say how far something is.
//
// Threads: reentrant.

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tickstack::tickerplant {

// Replaces a file by one with this text, through PATH.next beside it, so that readers see either
// version. Nothing is synced: after a power cut the file may have any contents. Errors: those of
// writing and renaming.
absl::Status ReplaceMarkFile(const std::string& path, std::string_view text);

// Returns the line `crc32c XXXXXXXX` of a text.
std::string ChecksumLine(std::string_view text);

}  // namespace tickstack::tickerplant
