// Reads a marker of an archived table (disk/archive_marker.h). So that the fuzzer gets past the
// checksum, an input whose first byte is `!` gets the last line that fits to the others.
//
// It must not crash, and what is read is read again from what it is written as.

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "disk/archive_marker.h"

namespace tickstack::disk {
namespace {

void Run(std::string text) {
  if (text.starts_with('!')) {
    text.erase(0, 1);
    text += fmt::format("end {:08x}\n", Crc32c(AsBytes(text)));
  }
  const absl::StatusOr<ArchiveMarker> marker = ParseArchiveMarker(text);
  if (!marker.ok()) return;
  const absl::StatusOr<ArchiveMarker> again = ParseArchiveMarker(EncodeArchiveMarker(*marker));
  TS_CHECK(again.ok() && *again == *marker);
  for (size_t i = 0; i < marker->files.size(); ++i) {
    const ArchivedFile& file = marker->files[i];
    TS_CHECK(!file.name.empty() && file.name.find('/') == std::string::npos);
    TS_CHECK(!marker->KeyOf(i, file.bytes).empty());
  }
}

}  // namespace
}  // namespace tickstack::disk

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::disk::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
