#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/mapping.h"
#include "base/status.h"
#include "measure/storage_bench/sample_arrays.h"
#include "measure/storage_bench/suites.h"
#include "measure/storage_bench/vector_file.h"
#include "table/types.h"

namespace tickstack::measure::storage_bench {
namespace {

constexpr uint64_t kMetaRepeats = 50'000;
constexpr size_t kModestItems = 16'384;  // 128 KiB, the file of the paper about EC2.

using MetaOperation = std::function<absl::Status(const std::string& path)>;
constexpr std::array<int64_t, 2> kTwoItems = {2, 3};

absl::Status OpenClose(const std::string& path) { return File::OpenOrCreate(path).status(); }

absl::Status LockFile(const std::string& path) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(path));
  TS_RETURN_IF_ERROR(file.TryLock());
  return file.Bytes().status();
}

absl::Status SizeOfFile(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  return file.Bytes().status();
}

absl::Status MapFile(const std::string& path) { return Mapping::OfFile(path).status(); }

absl::Status AppendTwo(const std::string& path) { return AppendItems(path, BytesOf(kTwoItems)); }

absl::Status ReplaceByTwo(const std::string& path) {
  return WriteVector(path, Type::kLong, BytesOf(kTwoItems));
}

// Reads a whole file into a buffer that is kept from call to call.
class BinaryReader {
 public:
  absl::Status Read(const std::string& path) {
    TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
    TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    return file.ReadAt(0, std::span(buffer_).first(bytes)).status();
  }

 private:
  std::vector<std::byte> buffer_;
};

// Appends two items to a file that stays open.
class HandleAppender {
 public:
  absl::Status Append(const std::string& path) {
    if (!file_) {
      TS_ASSIGN_OR_RETURN(file_, File::OpenOrCreate(path));
      TS_ASSIGN_OR_RETURN(end_, file_->Bytes());
    }
    TS_RETURN_IF_ERROR(file_->WriteAt(end_, BytesOf(kTwoItems)));
    end_ += sizeof(kTwoItems);
    return absl::OkStatus();
  }

 private:
  std::optional<File> file_;
  uint64_t end_ = 0;
};

TestName Named(const char* id, const char* name, const char* expression) {
  return {"meta", std::string(".meta.") + id, name, expression, true};
}

// Measures an operation on a file that an earlier suite wrote.
Test Meta(const Workspace& workspace, TestName name, const std::string& file, int64_t length,
          const MetaOperation& operation) {
  return {.name = std::move(name), .run = [=, &workspace]() -> absl::StatusOr<Work> {
            const std::string path = workspace.PathOf(file);
            const auto repeats = static_cast<uint64_t>(
                std::max(10.0, workspace.sizes.factor * static_cast<double>(kMetaRepeats)));
            TS_ASSIGN_OR_RETURN(const uint64_t done,
                                Repeat(workspace, repeats, [&] { return operation(path); }));
            return Work{done, length, 0};
          }};
}

// Measures an operation on a file of 128 KiB of its own, which is written before.
Test OnModestFile(const Workspace& workspace, TestName name, const std::string& file,
                  const MetaOperation& operation) {
  Test test = Meta(workspace, std::move(name), file, kModestItems, operation);
  test.prepare = [=, &workspace]() -> absl::StatusOr<Pages> {
    TS_RETURN_IF_ERROR(
        WriteVector(workspace.PathOf(file), Type::kLong, BytesOf(SampleLongs(kModestItems))));
    return Pages{};
  };
  test.finish = [=, &workspace] { return RemoveFile(workspace.PathOf(file)); };
  return test;
}

}  // namespace

std::vector<Test> MetaTests(const Workspace& workspace) {
  const auto large = static_cast<int64_t>(workspace.sizes.large);
  const auto small = static_cast<int64_t>(workspace.sizes.small);
  const auto reader = std::make_shared<BinaryReader>();
  const auto appender = std::make_shared<HandleAppender>();
  std::vector<Test> tests;
  tests.push_back(Meta(workspace, Named("openclose", "close open", "hopen,hclose"), "openclose",
                       kNullLong, OpenClose));
  tests.push_back(
      OnModestFile(workspace, Named("lock", "lock", "enum extend"), "locktest", LockFile));
  tests.push_back(
      Meta(workspace, Named("size", "size", "hcount"), "fhcount", 16 + 8 * large, SizeOfFile));
  TestName mapping = Named("get", "mmap", "get");
  mapping.type = "read disk";
  tests.push_back(Meta(workspace, std::move(mapping), "mmap", small, MapFile));
  // These are tests of nano's first version, whose figures the paper has.
  tests.push_back(
      OnModestFile(workspace, Named("append", "append", "();,;2 3"), "append", AppendTwo));
  tests.push_back(
      OnModestFile(workspace, Named("appendToHandle", "append to handle", "H 2 3"), "appendhandle",
                   [appender](const std::string& path) { return appender->Append(path); }));
  tests.push_back(
      OnModestFile(workspace, Named("assign", "assign", "();:;2 3"), "assign", ReplaceByTwo));
  tests.push_back(OnModestFile(workspace, Named("read1", "read1", "read1"), "read1",
                               [reader](const std::string& path) { return reader->Read(path); }));
  return tests;
}

}  // namespace tickstack::measure::storage_bench
