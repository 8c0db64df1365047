#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "measure/storage_bench/sample_arrays.h"
#include "measure/storage_bench/suites.h"
#include "measure/storage_bench/vector_file.h"

namespace tickstack::measure::storage_bench {
namespace {

constexpr const char* kWriteType = "write disk";
constexpr size_t kSymbols = 10'000;

// Vectors that are made when a test first needs them, outside of what is measured.
class WriteState {
 public:
  explicit WriteState(const Workspace& of) : workspace(of) {}

  std::span<const int64_t> Longs(size_t n) {
    if (longs_.size() < n) longs_ = SampleLongs(n);
    return std::span(longs_).first(n);
  }
  std::span<const int64_t> Positions() {
    if (positions_.empty()) positions_ = SamplePositions(workspace.sizes.large, kSymbols);
    return positions_;
  }
  std::span<const double> Floats() {
    if (floats_.empty()) floats_ = SampleFloats(workspace.sizes.large);
    return floats_;
  }
  std::span<const int64_t> Huge() {
    if (huge_.empty()) {
      huge_.resize(workspace.sizes.huge);
      std::iota(huge_.begin(), huge_.end(), int64_t{0});
    }
    return huge_;
  }

  const Workspace& workspace;
  std::vector<size_t> rows;    // Rows that the current test replaces.
  std::optional<File> handle;  // The file that the current test appends to.

 private:
  std::vector<int64_t> longs_, positions_, huge_;
  std::vector<double> floats_;
};
using WriteStatePtr = std::shared_ptr<WriteState>;

TestName NameOf(std::string id, std::string name, std::string expression) {
  return {kWriteType, ".write." + id, std::move(name), std::move(expression)};
}

// Appends `n` items a number of times, opening the file for each, then syncs it once.
Test OpenAppend(const WriteStatePtr& state, size_t n, uint64_t repeats) {
  const std::string path = state->workspace.PathOf("tinyAppend");
  return {.name = NameOf("tinyAppend", "open append tiny, sync once", ".[;();,;0 1 2...]"),
          .io = Io::kSyncWrite,
          .run = [=]() -> absl::StatusOr<Work> {
            const std::span<const std::byte> items = BytesOf(state->Longs(n));
            for (uint64_t i = 0; i < repeats; ++i) TS_RETURN_IF_ERROR(AppendItems(path, items));
            TS_RETURN_IF_ERROR(SyncFile(path));
            return Work{repeats, static_cast<int64_t>(n), repeats * items.size()};
          },
          .prepare = [=]() -> absl::StatusOr<Pages> {
            state->Longs(n);
            return Pages{};
          },
          .finish = [=] { return RemoveFile(path); }};
}

// Appends `n` items a number of times to a file that stays open, then syncs it once.
Test HandleAppend(const WriteStatePtr& state, TestName name, size_t n, uint64_t repeats) {
  const std::string path = state->workspace.PathOf("appendHandle");
  return {.name = std::move(name),
          .io = Io::kSyncWrite,
          .run = [=]() -> absl::StatusOr<Work> {
            const std::span<const std::byte> items = BytesOf(state->Longs(n));
            for (uint64_t i = 0; i < repeats; ++i) {
              TS_RETURN_IF_ERROR(state->handle->WriteAt(16 + i * items.size(), items));
            }
            TS_RETURN_IF_ERROR(SyncFile(path));
            return Work{repeats, static_cast<int64_t>(n), repeats * items.size()};
          },
          .prepare = [=]() -> absl::StatusOr<Pages> {
            state->Longs(n);
            TS_RETURN_IF_ERROR(WriteVector(path, Type::kLong, {}));
            TS_ASSIGN_OR_RETURN(state->handle, File::OpenOrCreate(path));
            return Pages{};
          },
          .finish =
              [=] {
                state->handle.reset();
                return RemoveFile(path);
              }};
}

using Items = std::function<std::span<const std::byte>(WriteState&)>;

Test WriteWhole(const WriteStatePtr& state, const std::string& id, const std::string& name,
                const std::string& file, Type type, const Items& items) {
  const std::string path = state->workspace.PathOf(file);
  return {.name = NameOf(id, name, "set"),
          .io = Io::kCacheWrite,
          .run = [=]() -> absl::StatusOr<Work> {
            const std::span<const std::byte> bytes = items(*state);
            TS_RETURN_IF_ERROR(WriteVector(path, type, bytes));
            return Work{1, static_cast<int64_t>(bytes.size() / kItemBytes), bytes.size()};
          },
          .prepare = [=]() -> absl::StatusOr<Pages> {
            items(*state);
            return Pages{};
          },
          .is_needed = true};
}

// Syncs a file. The throughput is that of all its items, as in nano, although some may be on disk.
Test Sync(const WriteStatePtr& state, const std::string& id, const std::string& name,
          const std::string& file, size_t items) {
  const std::string path = state->workspace.PathOf(file);
  return {.name = NameOf(id, name, "system sync"), .io = Io::kSyncWrite, .run = [=] {
            const absl::Status synced = SyncFile(path);
            return synced.ok() ? absl::StatusOr<Work>(Work{1, 1, kItemBytes * items}) : synced;
          }};
}

struct Replaced {
  std::string file;
  size_t items = 0;  // Items of the file.
  size_t rows = 0;   // Number of rows that each repeat replaces.
  uint64_t repeats = 1;
  bool sorted = false;
  uint64_t value = 42;
};

Test Replace(const WriteStatePtr& state, TestName name, const Replaced& what) {
  const std::string path = state->workspace.PathOf(what.file);
  return {.name = std::move(name),
          .io = Io::kCacheWrite,
          .run = [=]() -> absl::StatusOr<Work> {
            TS_ASSIGN_OR_RETURN(const uint64_t done, Repeat(state->workspace, what.repeats, [&] {
                                  return ReplaceItems(path, state->rows, what.value);
                                }));
            const size_t rows = state->rows.size();
            return Work{done, static_cast<int64_t>(rows), done * rows * kItemBytes};
          },
          .prepare = [=]() -> absl::StatusOr<Pages> {
            constexpr uint64_t kSeed = 7;
            state->rows = SampleRows(std::max<size_t>(1, what.rows), what.items, kSeed);
            if (what.sorted) std::ranges::sort(state->rows);
            return Pages{};
          }};
}

// The vectors that fit into a cache: written, synced, partly replaced.
struct CacheSized {
  std::string word;   // "tiny"
  std::string upper;  // "Tiny"
  size_t items;
  uint64_t replace_repeats;
};

void AddCacheSized(std::vector<Test>& tests, const WriteStatePtr& state, const CacheSized& size) {
  const std::string file = "seqread" + size.upper;
  tests.push_back(
      WriteWhole(state, "setInt" + size.upper, "write int " + size.word, file, Type::kLong,
                 [n = size.items](WriteState& vectors) { return BytesOf(vectors.Longs(n)); }));
  tests.push_back(Sync(state, "syncInt" + size.upper, "sync int " + size.word, file, size.items));
  const std::string what = size.word == "tiny" ? "open replace int " : "open replace random int ";
  tests.push_back(Replace(state,
                          NameOf(size.word + "Replace", what + size.word, "@[;10 2 49...;:;42]"),
                          {.file = file,
                           .items = size.items,
                           .rows = size.items / 5,
                           .repeats = size.replace_repeats / state->workspace.sizes.decay}));
}

void AddColumns(std::vector<Test>& tests, const WriteStatePtr& state) {
  const Sizes& sizes = state->workspace.sizes;
  tests.push_back(WriteWhole(state, "setLargeSym", "write sym large", "tbl/sym", Type::kLong,
                             [](WriteState& vectors) { return BytesOf(vectors.Positions()); }));
  tests.push_back(Sync(state, "syncLargeSym", "sync sym large", "tbl/sym", sizes.large));
  tests.push_back(WriteWhole(state, "setLargeFloat", "write float large", "tbl/floatcol",
                             Type::kFloat,
                             [](WriteState& vectors) { return std::as_bytes(vectors.Floats()); }));
  tests.push_back(Sync(state, "syncLargeFloat", "sync float large", "tbl/floatcol", sizes.large));
  constexpr uint64_t kPi = 0x40091EB851EB851FU;  // The float 3.14.
  tests.push_back(Replace(
      state,
      NameOf("largeFloatReplace", "open replace random float large", "@[;10 2 49...;:;3.14]"),
      {.file = "tbl/floatcol",
       .items = sizes.large,
       .rows = sizes.large / (100 * sizes.decay),
       .value = kPi}));
  tests.push_back(Sync(state, "syncLargeFloatAfterReplace", "sync float large after replace",
                       "tbl/floatcol", sizes.large));
}

void AddHuge(std::vector<Test>& tests, const WriteStatePtr& state) {
  const Sizes& sizes = state->workspace.sizes;
  tests.push_back(WriteWhole(state, "setIntHuge", "write int huge", "seqreadHuge", Type::kLong,
                             [](WriteState& vectors) { return BytesOf(vectors.Huge()); }));
  tests.push_back(Sync(state, "syncIntHuge", "sync int huge", "seqreadHuge", sizes.huge));
  Replaced what{
      .file = "seqreadHuge", .items = sizes.huge, .rows = sizes.huge / (5000 * sizes.decay)};
  tests.push_back(Replace(
      state, NameOf("hugeReplace", "open replace random int huge", "@[;10 2 49...;:;42]"), what));
  tests.push_back(Sync(state, "syncIntHugeAfterReplace", "sync int huge after replace",
                       "seqreadHuge", sizes.huge));
  what.sorted = true;
  what.value = 1089;
  tests.push_back(Replace(
      state, NameOf("hugeReplaceSorted", "open replace sorted int huge", "@[;2 10 49...;:;1089]"),
      what));
  tests.push_back(Sync(state, "syncIntHugeAfterSortedReplace", "sync int huge after sorted replace",
                       "seqreadHuge", sizes.huge));
}

// Appends a vector to each of some files until they are full, then syncs them.
struct Appended {
  std::vector<std::string> files;
  uint64_t appends = 0;  // To each file.
  Items items;
};

Test AppendMany(const WriteStatePtr& state, TestName name, const Appended& what) {
  return {.name = std::move(name),
          .io = Io::kSyncWrite,
          .run = [=]() -> absl::StatusOr<Work> {
            const std::span<const std::byte> items = what.items(*state);
            for (const std::string& file : what.files) {
              const std::string path = state->workspace.PathOf(file);
              for (uint64_t i = 0; i < what.appends; ++i) {
                TS_RETURN_IF_ERROR(AppendItems(path, items));
              }
            }
            for (const std::string& file : what.files) {
              TS_RETURN_IF_ERROR(SyncFile(state->workspace.PathOf(file)));
            }
            const uint64_t appends = what.appends * what.files.size();
            return Work{appends, static_cast<int64_t>(items.size() / kItemBytes),
                        appends * items.size()};
          },
          .prepare = [=]() -> absl::StatusOr<Pages> {
            what.items(*state);
            return Pages{};
          },
          .is_needed = true};
}

void AddAppends(std::vector<Test>& tests, const WriteStatePtr& state) {
  const Sizes& sizes = state->workspace.sizes;
  Appended random_files{
      .files = {},
      .appends = sizes.random_file_items / sizes.small,
      .items = [n = sizes.small](WriteState& vectors) { return BytesOf(vectors.Longs(n)); }};
  for (size_t i = 0; i < sizes.random_files; ++i) {
    random_files.files.push_back("randomread" + std::to_string(i));
  }
  tests.push_back(
      AppendMany(state, NameOf("appendSmall", "open append small, sync once", ".[;();,;til 16*k]"),
                 random_files));
  const uint64_t chunks = sizes.table_rows / sizes.large - 1;
  tests.push_back(AppendMany(
      state, NameOf("appendLargeSym", "open append mid sym, sync once", ".[;();,;`sym$]"),
      {{"tbl/sym"}, chunks, [](WriteState& vectors) { return BytesOf(vectors.Positions()); }}));
  tests.push_back(
      AppendMany(state, NameOf("appendLargeFloat", "open append mid float, sync once", ".[;();,;]"),
                 {{"tbl/floatcol"}, chunks, [](WriteState& vectors) {
                    return std::as_bytes(vectors.Floats());
                  }}));
}

// Writes the files of the tests of metadata and of binary reads; their writing is not measured.
absl::Status WriteSmallFiles(WriteState& state) {
  const Workspace& workspace = state.workspace;
  const std::span<const int64_t> small = state.Longs(workspace.sizes.small);
  for (const char* file : {"openclose", "mmap"}) {
    TS_RETURN_IF_ERROR(WriteVector(workspace.PathOf(file), Type::kLong, BytesOf(small)));
  }
  for (int i = 0; i < 64; ++i) {
    TS_RETURN_IF_ERROR(AppendItems(workspace.PathOf("readbinary"), BytesOf(small)));
  }
  TS_RETURN_IF_ERROR(SyncFile(workspace.PathOf("readbinary")));
  return WriteVector(workspace.PathOf("fhcount"), Type::kLong,
                     BytesOf(state.Longs(workspace.sizes.large)));
}

}  // namespace

std::vector<Test> WriteTests(const Workspace& workspace) {
  const Sizes& sizes = workspace.sizes;
  const auto state = std::make_shared<WriteState>(workspace);
  std::vector<Test> tests;
  tests.push_back(OpenAppend(state, sizes.tiny, 200));
  tests.push_back(
      HandleAppend(state, NameOf("tinyAppendToHandler", "append tiny, sync once", "H 0 1 2..."),
                   sizes.tiny, 500));
  tests.push_back(
      HandleAppend(state, NameOf("smallAppendToHandler", "append small, sync once", "H til 16*k"),
                   sizes.small, 50));
  AddCacheSized(tests, state, {"tiny", "Tiny", sizes.tiny, 20'000});
  AddCacheSized(tests, state, {"small", "Small", sizes.small, 2'000});
  AddCacheSized(tests, state, {"medium", "Medium", sizes.medium, 500});
  AddColumns(tests, state);
  AddHuge(tests, state);
  AddAppends(tests, state);
  tests.back().finish = [state] { return WriteSmallFiles(*state); };
  return tests;
}

}  // namespace tickstack::measure::storage_bench
