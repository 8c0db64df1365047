#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/status.h"
#include "measure/storage_bench/keep.h"
#include "measure/storage_bench/sample_arrays.h"
#include "measure/storage_bench/suites.h"
#include "measure/storage_bench/vector_file.h"
#include "query/kernels/number_kernels.h"

namespace tickstack::measure::storage_bench {
namespace {

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

// Makes all pages of a mapping resident. Asks for the next 8 MiB while it maps the current ones, so
// that the disk always has requests in its queue.
void MakeResident(std::span<const std::byte> bytes) {
  constexpr size_t kWindow = size_t{8} << 20, kPage = 4096;
  auto* const data = const_cast<std::byte*>(bytes.data());
  const auto window = [&](size_t at) { return std::min(kWindow, bytes.size() - at); };
  uint8_t sum = 0;
  for (size_t at = 0; at < bytes.size(); at += kWindow) {
    const size_t next = at + kWindow;
    if (at == 0) (void)::madvise(data, window(0), MADV_WILLNEED);
    if (next < bytes.size()) (void)::madvise(data + next, window(next), MADV_WILLNEED);
    if (::madvise(data + at, window(at), MADV_POPULATE_READ) == 0) continue;
    // A kernel before 5.14: touches each page instead.
    for (size_t page = at; page < at + window(at); page += kPage) {
      sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(data[page]));
    }
  }
  Keep(sum);
}

// The mappings of a suite, which stay until its end.
struct ReadState {
  std::map<std::string, Mapping> mappings;
};
using ReadStatePtr = std::shared_ptr<ReadState>;

struct Sequential {
  std::string id;    // "readHuge"
  std::string what;  // "int huge"
  std::string file;
};

Test MapAndRead(const Workspace& workspace, const ReadStatePtr& state, const Sequential& of,
                bool again) {
  const std::string path = workspace.PathOf(of.file);
  return {.name = {again ? "read mem write mem" : "read disk write mem",
                   (again ? ".reread." : ".read.") + of.id,
                   (again ? "sequential reread " : "sequential read ") + of.what, "get,-23!"},
          .io = again ? Io::kWarmRead : Io::kColdRead,
          .run = [=, &workspace]() -> absl::StatusOr<Work> {
            TS_ASSIGN_OR_RETURN(Mapping mapping, Mapping::OfFile(path));
            const std::span<const std::byte> bytes = mapping.bytes();
            constexpr size_t kPage = 4096, kPagesPerThread = 4096;
            InParallel(
                workspace, bytes.size() / kPage + 1, kPagesPerThread,
                [&](size_t begin, size_t end) {
                  begin = std::min(begin * kPage, bytes.size());
                  MakeResident(bytes.subspan(begin, std::min(end * kPage, bytes.size()) - begin));
                });
            const size_t items = ItemsOf<int64_t>(mapping).size();
            state->mappings.insert_or_assign(of.file, std::move(mapping));
            return Work{1, static_cast<int64_t>(items), items * kItemBytes};
          },
          .prepare = [=] { return PagesOf(path); }};
}

using Scan = int64_t (*)(std::span<const int64_t> items);

int64_t MaxByKernel(std::span<const int64_t> items) {
  return query::Kernels<int64_t>().max(items.data(), items.size(),
                                       std::numeric_limits<int64_t>::min());
}

int64_t MaxByLoop(std::span<const int64_t> items) {
  int64_t most = std::numeric_limits<int64_t>::min();
  for (const int64_t item : items) most = std::max(most, item);
  return most;
}

Test Aggregate(const Workspace& workspace, const ReadStatePtr& state, const char* id,
               const char* name, const char* expression, Scan scan) {
  return {.name = {"cpu read mem", std::string(".read.") + id, name, expression},
          .io = Io::kWarmRead,
          .run = [=, &workspace]() -> absl::StatusOr<Work> {
            const std::span<const int64_t> items = ItemsOf<int64_t>(state->mappings["seqreadHuge"]);
            InParallel(workspace, items.size(), kItemsPerThread, [&](size_t begin, size_t end) {
              Keep(scan(items.subspan(begin, end - begin)));
            });
            return Work{1, static_cast<int64_t>(items.size()), items.size() * kItemBytes};
          },
          .prepare = [=, &workspace]() -> absl::StatusOr<Pages> {
            const std::string path = workspace.PathOf("seqreadHuge");
            if (!state->mappings.contains("seqreadHuge")) {
              TS_ASSIGN_OR_RETURN(Mapping mapping, Mapping::OfFile(path));
              MakeResident(mapping.bytes());
              state->mappings.insert_or_assign("seqreadHuge", std::move(mapping));
            }
            return PagesOf(path);
          }};
}

Test ReadBinary(const Workspace& workspace, bool again) {
  const std::string path = workspace.PathOf("readbinary");
  return {.name = {again ? "read mem write mem" : "read disk",
                   again ? ".reread.readbinary" : ".read.readbinary", "sequential read binary",
                   "read1"},
          .io = again ? Io::kWarmRead : Io::kColdRead,
          .run = [=]() -> absl::StatusOr<Work> {
            TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
            TS_ASSIGN_OR_RETURN(const uint64_t size, file.Bytes());
            std::vector<std::byte> bytes(size);
            TS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, bytes));
            if (got != size) return DataLoss("{}: {} bytes, expected {}", path, got, size);
            return Work{1, static_cast<int64_t>(size), size - std::min<uint64_t>(16, size)};
          },
          .prepare = [=] { return PagesOf(path); }};
}

// Reads the first `bytes` of a file past the page cache. kUnimplemented if the file system cannot.
absl::Status ReadDirectly(const std::string& path, uint64_t bytes) {
  constexpr size_t kBlock = size_t{4} << 20;
  TS_ASSIGN_OR_RETURN(File file, File::OpenForReading(path));
  file.SetDirect(true);
  if (!file.is_direct()) return Unimplemented("{}: the file system has no O_DIRECT", path);
  const std::unique_ptr<std::byte, decltype(&std::free)> buffer(
      static_cast<std::byte*>(std::aligned_alloc(File::kDirectAlignment, kBlock)), &std::free);
  if (buffer == nullptr) return ResourceExhausted("{}: no memory to read it", path);
  for (uint64_t at = 0; at < bytes; at += kBlock) {
    const size_t block = std::min<uint64_t>(kBlock, bytes - at);
    const absl::StatusOr<size_t> got = file.ReadAt(at, {buffer.get(), block});
    // Some file systems accept the flag, and refuse the reads.
    if (absl::IsInvalidArgument(got.status())) return Unimplemented("{}", Message(got.status()));
    TS_RETURN_IF_ERROR(got.status());
  }
  return absl::OkStatus();
}

Test ReadDirect(const Workspace& workspace) {
  const std::string path = workspace.PathOf("seqreadHuge");
  return {.name = {"read disk", ".read.direct", "sequential read int huge, O_DIRECT", ""},
          .io = Io::kDirect,
          .run = [=]() -> absl::StatusOr<Work> {
            TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
            TS_ASSIGN_OR_RETURN(const uint64_t size, file.Bytes());
            // Whole pages only: such a read must not end within one.
            const uint64_t bytes = size / File::kDirectAlignment * File::kDirectAlignment;
            TS_RETURN_IF_ERROR(ReadDirectly(path, bytes));
            return Work{1, static_cast<int64_t>(bytes / kItemBytes), bytes};
          }};
}

// The vectors that reads and rereads have in common.
void AddSequential(std::vector<Test>& tests, const Workspace& workspace, const ReadStatePtr& state,
                   bool again) {
  tests.push_back(MapAndRead(workspace, state, {"readSmall", "int small", "seqreadSmall"}, again));
  tests.push_back(
      MapAndRead(workspace, state, {"readMedium", "int medium", "seqreadMedium"}, again));
  tests.push_back(
      MapAndRead(workspace, state, {"readLarge", "float large", "tbl/floatcol"}, again));
  tests.push_back(MapAndRead(workspace, state, {"readHuge", "int huge", "seqreadHuge"}, again));
}

}  // namespace

std::vector<Test> ReadTests(const Workspace& workspace) {
  const auto state = std::make_shared<ReadState>();
  std::vector<Test> tests;
  tests.push_back(MapAndRead(workspace, state, {"readTiny", "int tiny", "seqreadTiny"}, false));
  AddSequential(tests, workspace, state, false);
  tests.push_back(
      Aggregate(workspace, state, "aggregate", "aggregate int huge", "max", MaxByKernel));
  tests.push_back(
      Aggregate(workspace, state, "aggregateLoop", "aggregate int huge, C loop", "", MaxByLoop));
  tests.push_back(ReadBinary(workspace, false));
  tests.push_back(ReadDirect(workspace));
  return tests;
}

std::vector<Test> RereadTests(const Workspace& workspace) {
  const auto state = std::make_shared<ReadState>();
  std::vector<Test> tests;
  AddSequential(tests, workspace, state, true);
  tests.push_back(ReadBinary(workspace, true));
  return tests;
}

}  // namespace tickstack::measure::storage_bench
