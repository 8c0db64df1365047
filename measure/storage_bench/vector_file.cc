#include "measure/storage_bench/vector_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "disk/kdb_format.h"

namespace tickstack::measure::storage_bench {
namespace {

using Header = std::array<std::byte, disk::kVectorHeaderBytes>;
constexpr size_t kCountOffset = 8;

Header HeaderOf(Type type, uint64_t count) {
  Header header{};
  std::memcpy(header.data(), disk::kVectorTag.data(), disk::kVectorTag.size());
  header[2] = static_cast<std::byte>(type);
  std::memcpy(header.data() + kCountOffset, &count, sizeof(count));
  return header;
}

// A whole file, mapped for as long as it exists.
class WholeMapping {
 public:
  static absl::StatusOr<WholeMapping> Of(const File& file, int protection) {
    TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
    if (bytes == 0) return WholeMapping(nullptr, 0);
    void* const data = ::mmap(nullptr, bytes, protection, MAP_SHARED, file.fd(), 0);
    if (data == MAP_FAILED) return Annotate(ErrnoStatus(errno, "mmap"), file.path());
    return WholeMapping(static_cast<std::byte*>(data), bytes);
  }
  WholeMapping(WholeMapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  WholeMapping(const WholeMapping&) = delete;
  WholeMapping& operator=(const WholeMapping&) = delete;
  ~WholeMapping() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  WholeMapping(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_;
  size_t bytes_;
};

}  // namespace

absl::Status WriteVector(const std::string& path, Type type, std::span<const std::byte> items) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(path));
  TS_RETURN_IF_ERROR(file.Truncate(0));
  const Header header = HeaderOf(type, items.size() / kItemBytes);
  const std::array<std::span<const std::byte>, 2> parts = {std::span(header), items};
  return file.WriteAt(0, parts);
}

absl::Status AppendItems(const std::string& path, std::span<const std::byte> items) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(path));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
  if (bytes == 0) {
    const Header header = HeaderOf(Type::kLong, items.size() / kItemBytes);
    const std::array<std::span<const std::byte>, 2> parts = {std::span(header), items};
    return file.WriteAt(0, parts);
  }
  TS_RETURN_IF_ERROR(file.WriteAt(bytes, items));
  const uint64_t count = (bytes - disk::kVectorHeaderBytes + items.size()) / kItemBytes;
  return file.WriteAt(kCountOffset, std::as_bytes(std::span(&count, 1)));
}

absl::Status ReplaceItems(const std::string& path, std::span<const size_t> rows, uint64_t value) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenOrCreate(path));
  TS_ASSIGN_OR_RETURN(const WholeMapping mapping, WholeMapping::Of(file, PROT_READ | PROT_WRITE));
  auto* const items = reinterpret_cast<uint64_t*>(mapping.data() + disk::kVectorHeaderBytes);
  for (const size_t row : rows) items[row] = value;
  return absl::OkStatus();
}

absl::Status RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Annotate(ErrnoStatus(errno, "unlink"), path);
  }
  return absl::OkStatus();
}

absl::Status SyncFile(const std::string& path) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenForReading(path));
  if (::fsync(file.fd()) != 0) return Annotate(ErrnoStatus(errno, "fsync"), path);
  return absl::OkStatus();
}

absl::StatusOr<Pages> PagesOf(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
  const ByteRange all{0, bytes};
  return PagesOf(path, std::span(&all, 1));
}

absl::StatusOr<Pages> PagesOf(const std::string& path, std::span<const ByteRange> ranges) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  TS_ASSIGN_OR_RETURN(const WholeMapping mapping, WholeMapping::Of(file, PROT_READ));
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((mapping.bytes() + page - 1) / page);
  if (resident.empty()) return Pages{};
  if (::mincore(mapping.data(), mapping.bytes(), resident.data()) != 0) {
    return Annotate(ErrnoStatus(errno, "mincore"), path);
  }
  Pages pages;
  for (const ByteRange& range : ranges) {
    if (range.end > mapping.bytes()) {
      return DataLoss("{}: {} bytes, expected at least {}", path, mapping.bytes(), range.end);
    }
    for (size_t i = range.begin / page; i * page < range.end; ++i) {
      pages.resident += resident[i] & 1U;
      ++pages.total;
    }
  }
  return pages;
}

}  // namespace tickstack::measure::storage_bench
