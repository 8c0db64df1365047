#include "disk/verified_blocks.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::disk {
namespace {

// Returns what an operator should do about a file that does not fit its checksums.
std::string Advice(const std::string& path, int64_t checksums_ns) {
  const absl::StatusOr<int64_t> modified_ns = ModifiedNs(path);
  if (modified_ns.ok() && *modified_ns > checksums_ns) {
    return fmt::format(
        "the file was changed or copied at {}, its checksums are of {}; if this was intended, {} "
        "writes them anew",
        FormatTimestamp(*modified_ns - kUnixNsOfKdbEpoch),
        FormatTimestamp(checksums_ns - kUnixNsOfKdbEpoch), ChecksumCommand(path));
  }
  return "nobody has written the file since its checksums, so disk or memory changed it";
}

}  // namespace

VerifiedBlocks::VerifiedBlocks(uint64_t bytes, int64_t written_ns, std::vector<uint32_t> blocks)
    : bytes_(bytes),
      written_ns_(written_ns),
      blocks_(std::move(blocks)),
      verified_((blocks_.size() + 63) / 64),
      left_(blocks_.size()) {}

absl::StatusOr<std::unique_ptr<const VerifiedBlocks>> VerifiedBlocks::Load(
    const ChecksumFile* checksums, const std::string& path, uint64_t bytes, bool may_grow) {
  if (checksums == nullptr) return nullptr;
  const ChecksumFile::Entry* const entry = checksums->Find(path.substr(path.rfind('/') + 1));
  if (entry == nullptr) {
    return DataLoss("{}: {} has no checksums of it: it was added since; {} writes them anew", path,
                    checksums->path(), ChecksumCommand(path));
  }
  if (may_grow ? bytes < entry->bytes : bytes != entry->bytes) {
    return DataLoss("{}: {} bytes, its checksums are of {}: {}", path, bytes, entry->bytes,
                    Advice(path, checksums->modified_ns()));
  }
  TS_ASSIGN_OR_RETURN(std::vector<uint32_t> blocks, checksums->Load(*entry));
  return std::unique_ptr<const VerifiedBlocks>(
      new VerifiedBlocks(entry->bytes, checksums->modified_ns(), std::move(blocks)));
}

std::optional<DamagedBlock> VerifiedBlocks::FindDamageInBlocks(std::span<const std::byte> file,
                                                               uint64_t begin, uint64_t end,
                                                               uint64_t* verified_bytes) const {
  end = std::min(end, bytes_);
  if (begin >= end) return std::nullopt;
  const uint64_t last = (end - 1) / kChecksumBlockBytes;
  for (uint64_t i = begin / kChecksumBlockBytes; i <= last; ++i) {
    std::atomic<uint64_t>& word = verified_[i / 64];
    const uint64_t bit = uint64_t{1} << i % 64;
    if ((word.load(std::memory_order_acquire) & bit) != 0) continue;
    const uint64_t block_begin = i * kChecksumBlockBytes;
    const uint64_t block_end = std::min(block_begin + kChecksumBlockBytes, bytes_);
    const uint32_t crc = Crc32c(file.subspan(block_begin, block_end - block_begin));
    if (crc != blocks_[i]) return DamagedBlock{i, block_begin, block_end, crc, blocks_[i]};
    const uint64_t before = word.fetch_or(bit, std::memory_order_release);
    if ((before & bit) != 0) continue;  // Another thread has verified it meanwhile.
    left_.fetch_sub(1, std::memory_order_release);
    if (verified_bytes != nullptr) *verified_bytes += block_end - block_begin;
  }
  return std::nullopt;
}

void VerifiedBlocks::Forget() const {
  for (std::atomic<uint64_t>& word : verified_) word.store(0, std::memory_order_relaxed);
  left_.store(blocks_.size(), std::memory_order_relaxed);
}

absl::Status VerifiedBlocks::ErrorOf(const DamagedBlock& block, const std::string& path,
                                     const std::string& content) const {
  return DataLoss("{}: byte {}: block {} ({}up to byte {}) has CRC32C {:08x}, expected {:08x}: {}",
                  path, block.begin, block.number, content, block.end, block.found, block.expected,
                  Advice(path, written_ns_));
}

}  // namespace tickstack::disk
