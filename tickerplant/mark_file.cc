#include "tickerplant/mark_file.h"

#include <cerrno>
#include <cstdio>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/status.h"

namespace tickstack::tickerplant {

absl::Status ReplaceMarkFile(const std::string& path, std::string_view text) {
  const std::string next = path + ".next";
  {
    TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(next));
    TS_RETURN_IF_ERROR(file.Truncate(0));
    TS_RETURN_IF_ERROR(file.WriteAt(0, AsBytes(text)));
  }
  if (std::rename(next.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, fmt::format("rename {} to {}", next, path));
}

std::string ChecksumLine(std::string_view text) {
  return fmt::format("crc32c {:08x}\n", Crc32c(AsBytes(text)));
}

}  // namespace tickstack::tickerplant
