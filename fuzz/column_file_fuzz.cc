// Opens a column file of any bytes, with companions of any bytes, reads it in every possible way,
// and checks it. It must not crash, and: no count exceeds the file, an accepted index has its rows
// in order, and a column without findings can be read to its end.
//
//   input   u32 bytes of col | u32 bytes of col# | col | col# | col##

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "disk/column_check.h"
#include "disk/column_file.h"
#include "disk/decompressed_image.h"
#include "disk/stored_value.h"
#include "fuzz/scratch_folder.h"

namespace tickstack {
namespace {

constexpr uint64_t kRowsMax = 2000;  // Limit on nested rows that are built.

std::span<const std::byte> Take(std::span<const std::byte>& rest, size_t bytes) {
  const auto taken = rest.first(std::min(bytes, rest.size()));
  rest = rest.subspan(taken.size());
  return taken;
}

// Returns the domains in which enums are looked up.
std::shared_ptr<const disk::SymbolDomains> Domains(const ScratchFolder& folder) {
  const auto domains = std::make_shared<disk::SymbolDomains>();
  const std::string_view sym("\xff\x01\x0b\0\0\0\0\0AAPL\0IBM\0MSFT\0", 22);
  TS_CHECK(domains->Add(folder.Write("sym", AsBytes(sym))).value() == 0);
  return domains;
}

void ReadEnum(const disk::ColumnFile& column) {
  std::vector<SymbolId> ids(column.rows());
  static_cast<void>(column.ReadSymbols({0, column.rows()}, ids));
  const absl::StatusOr<const disk::PartedIndex*> index = column.Parted();
  if (!index.ok() || *index == nullptr) return;
  uint64_t end = 0;
  for (size_t i = 0; i < (*index)->keys(); ++i) {
    TS_CHECK((*index)->rows(i).begin_row == end && (*index)->rows(i).end_row > end);
    end = (*index)->rows(i).end_row;
    TS_CHECK((*index)->NumberOf((*index)->key(i)) == i);
    static_cast<void>(column.RowsOf((*index)->key(i)));
  }
  TS_CHECK(end == column.rows());
}

void ReadAll(const disk::ColumnFile& column, bool is_sound) {
  const absl::StatusOr<disk::PinnedBytes> elements = column.Elements();
  if (elements.ok()) TS_CHECK(elements->size() == column.rows() * column.element_bytes());
  if (column.kind() == disk::ColumnKind::kEnum) ReadEnum(column);
  for (uint64_t row = 0; row < std::min(column.rows(), kRowsMax); ++row) {
    const absl::Status read = column.ItemAt(row).status();
    TS_CHECK(read.ok() || !is_sound);
  }
  TS_CHECK(!column.ItemAt(column.rows()).ok());
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  static const std::shared_ptr<const disk::SymbolDomains> domains = Domains(folder);
  disk::SetDecompressedBytesMax(uint64_t{64} << 20);
  if (data.size() < 8) return;
  const auto column_bytes = LoadLittle<uint32_t>(data.data());
  const auto items_bytes = LoadLittle<uint32_t>(data.data() + 4);
  std::span<const std::byte> rest = data.subspan(8);
  const std::string path = folder.Write("col", Take(rest, column_bytes));
  folder.Add("col#", Take(rest, items_bytes));
  if (!rest.empty()) folder.Add("col##", rest);

  const disk::ColumnCheck check = disk::CheckColumn(path, domains);
  TS_CHECK(check.findings.size() <= disk::ColumnCheck::kFindingsMax);
  const auto column = disk::ColumnFile::Open(path, domains);
  if (column.ok()) ReadAll(**column, check.findings.empty());
  static_cast<void>(disk::ReadStoredValue(path, domains));
}

}  // namespace
}  // namespace tickstack

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
