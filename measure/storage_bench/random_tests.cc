#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "base/mapping.h"
#include "base/status.h"
#include "measure/storage_bench/keep.h"
#include "measure/storage_bench/sample_arrays.h"
#include "measure/storage_bench/suites.h"
#include "measure/storage_bench/vector_file.h"

namespace tickstack::measure::storage_bench {
namespace {

constexpr size_t kPageItems = 4096 / kItemBytes;

// A block of consecutive items of a file.
struct Block {
  size_t file = 0;
  size_t first_item = 0;
};

size_t OffsetOf(const Block& block) { return block.first_item * kItemBytes + 16; }

// Draws `n` different numbers below `limit`; all of them in random order if there are fewer.
std::vector<size_t> Deal(size_t n, size_t limit, FastRandom& random) {
  std::vector<size_t> numbers(limit);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  n = std::min(n, limit);
  for (size_t i = 0; i < n; ++i) std::swap(numbers[i], numbers[i + random.Next() % (limit - i)]);
  numbers.resize(n);
  return numbers;
}

// Returns the blocks that a test reads, in its order: different offsets at page boundaries of each
// file, and the files mixed.
std::vector<Block> BlocksOf(const Sizes& sizes, const RandomReads& reads) {
  const size_t block_items = reads.block_bytes / kItemBytes;
  const size_t per_file =
      std::max<size_t>(1, sizes.random_read_items / (block_items * sizes.random_files));
  const size_t offsets = std::max<size_t>(1, (sizes.random_file_items - block_items) / kPageItems);
  FastRandom random(reads.seed);
  std::vector<Block> blocks;
  for (size_t file = 0; file < sizes.random_files; ++file) {
    for (const size_t page : Deal(per_file, offsets, random)) {
      blocks.push_back({file, page * kPageItems});
    }
  }
  for (size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[random.Next() % i]);
  return blocks;
}

class RandomState {
 public:
  RandomState(const Workspace& workspace, const RandomReads& reads)
      : workspace_(workspace), reads_(reads) {
    for (size_t i = 0; i < workspace.sizes.random_files; ++i) {
      paths_.push_back(workspace.PathOf("randomread" + std::to_string(i)));
    }
  }

  absl::StatusOr<Pages> Prepare() {
    blocks_ = BlocksOf(workspace_.sizes, reads_);
    std::vector<std::vector<ByteRange>> ranges(paths_.size());
    for (const Block& block : blocks_) {
      const size_t at = OffsetOf(block);
      ranges[block.file].push_back({at, at + reads_.block_bytes});
    }
    Pages pages;
    for (size_t file = 0; file < paths_.size(); ++file) {
      TS_ASSIGN_OR_RETURN(const Pages of_file, PagesOf(paths_[file], ranges[file]));
      pages.resident += of_file.resident;
      pages.total += of_file.total;
      if (reads_.maps_each) continue;
      TS_ASSIGN_OR_RETURN(Mapping mapping, Mapping::OfFile(paths_[file]));
      mappings_.push_back(std::move(mapping));
    }
    return pages;
  }

  absl::StatusOr<Work> Run() {
    const size_t threads = workspace_.threads == nullptr ? 1 : workspace_.threads->threads() + 1;
    const auto part = [&](size_t i) {
      return Read(blocks_.size() * i / threads, blocks_.size() * (i + 1) / threads);
    };
    if (threads == 1) {
      TS_RETURN_IF_ERROR(part(0));
    } else {
      TS_RETURN_IF_ERROR(workspace_.threads->ParallelFor(threads, part));
    }
    const size_t items = reads_.block_bytes / kItemBytes;
    return Work{blocks_.size(), static_cast<int64_t>(items), blocks_.size() * items * kItemBytes};
  }

 private:
  // Copies blocks to memory.
  absl::Status Read(size_t begin, size_t end) const {
    std::vector<std::byte> copy(reads_.block_bytes);
    for (size_t i = begin; i < end; ++i) {
      Mapping own;
      if (reads_.maps_each) {
        TS_ASSIGN_OR_RETURN(own, Mapping::OfFile(paths_[blocks_[i].file]));
      }
      const Mapping& mapping = reads_.maps_each ? own : mappings_[blocks_[i].file];
      const size_t at = OffsetOf(blocks_[i]);
      if (at + copy.size() > mapping.bytes().size()) {
        return DataLoss("{}: {} bytes, expected at least {}", paths_[blocks_[i].file],
                        mapping.bytes().size(), at + copy.size());
      }
      std::memcpy(copy.data(), mapping.bytes().data() + at, copy.size());
      Keep(copy[copy.size() - 1]);
    }
    return absl::OkStatus();
  }

  const Workspace& workspace_;
  const RandomReads reads_;
  std::vector<std::string> paths_;
  std::vector<Mapping> mappings_;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<Test> RandomReadTests(const Workspace& workspace, const RandomReads& reads) {
  const char* block = reads.block_bytes == 1'000'000 ? "1M"
                      : reads.block_bytes == 64'000  ? "64k"
                                                     : "4k";
  const auto state = std::make_shared<RandomState>(workspace, reads);
  std::vector<Test> tests;
  tests.push_back(
      {.name = {reads.is_reread ? "read mem" : "read disk",
                std::string(".randomread.") + (reads.is_reread ? "randomreread_" : "randomread_") +
                    std::to_string(reads.block_bytes) + (reads.maps_each ? "-withmmap" : ""),
                std::string(reads.maps_each ? "mmap, random read " : "random read ") + block,
                reads.maps_each ? "get,+,@" : "+,@"},
       .io = reads.is_reread ? Io::kWarmRead : Io::kColdRead,
       .run = [state] { return state->Run(); },
       .prepare = [state] { return state->Prepare(); }});
  return tests;
}

}  // namespace tickstack::measure::storage_bench
