#include "disk/symbol_file_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/status.h"
#include "disk/partition_testing.h"
#include "table/types.h"

namespace tickstack::disk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<std::vector<int64_t>> NumbersIn(const TemporaryFolder& folder,
                                               std::vector<std::string_view> names,
                                               StorageObserver* observer = nullptr) {
  absl::StatusOr<std::unique_ptr<SymbolFileWriter>> file =
      SymbolFileWriter::Open(folder.path(), Storage(observer));
  if (!file.ok()) return file.status();
  return (*file)->Numbers(names);
}

// A disk that refuses one step.
class RefuseOne : public StorageObserver {
 public:
  explicit RefuseOne(StorageStep step) : step_(step) {}
  absl::Status Before(StorageStep step, const std::string& path, size_t) override {
    if (step != step_) return absl::OkStatus();
    return absl::ResourceExhaustedError(path + ": write: No space left on device");
  }

 private:
  const StorageStep step_;
};

TEST(SymbolFileWriter, NumbersNamesInTheOrderThatTheyCame) {
  const TemporaryFolder folder;
  EXPECT_THAT(*NumbersIn(folder, {"b", "a", "", "b"}), ElementsAre(0, 1, kNullLong, 0));
  EXPECT_EQ(FileBytes(folder / "sym"), std::string("\xff\x01\x0b\0\x02\0\0\0b\0a\0", 12));
  EXPECT_THAT(*NumbersIn(folder, {"c", "a"}), ElementsAre(2, 1));
  // The count is that of the file's creation.
  EXPECT_EQ(FileBytes(folder / "sym"), std::string("\xff\x01\x0b\0\x02\0\0\0b\0a\0c\0", 14));
}

TEST(SymbolFileWriter, NumbersALongFileAsItsNamesAreWhateverItsCountSays) {
  const TemporaryFolder folder;
  PutFile(folder / "sym", std::string("\xff\x01\x0b\0\0\0\0\0x\0y\0x\0", 14));
  EXPECT_THAT(*NumbersIn(folder, {"z", "y", "x"}), ElementsAre(3, 1, 0));
}

TEST(SymbolFileWriter, ReplacesAnEmptyListOfNoType) {
  const TemporaryFolder folder;
  PutFile(folder / "sym", std::string("\xff\x01\0\0\0\0\0\0", 8));
  EXPECT_THAT(*NumbersIn(folder, {"a"}), ElementsAre(0));
  EXPECT_THAT(Names(folder / "sym"), ElementsAre("a"));
}

// Goal: a name that a crash tore never shifts another. Method: an append cut at each byte.
TEST(SymbolFileWriter, CutsATornNameAndKeepsWholeOnes) {
  const TemporaryFolder folder;
  ASSERT_TRUE(NumbersIn(folder, {"old"}).ok());
  const std::string before = FileBytes(folder / "sym");
  const std::string checksums = FileBytes(folder / "sym.checksums$");
  ASSERT_TRUE(NumbersIn(folder, {"first", "second"}).ok());
  const std::string after = FileBytes(folder / "sym");
  for (size_t cut = before.size(); cut <= after.size(); ++cut) {
    SCOPED_TRACE(cut);
    PutFile(folder / "sym", after.substr(0, cut));
    PutFile(folder / "sym.checksums$", checksums);  // Replaced after the names are durable.
    const std::vector<int64_t> numbers = *NumbersIn(folder, {"old", "new", "second"});
    const std::vector<std::string> names = Names(folder / "sym");
    EXPECT_EQ(numbers[0], 0);
    EXPECT_EQ(names[static_cast<size_t>(numbers[1])], "new");
    EXPECT_EQ(names[static_cast<size_t>(numbers[2])], "second");
  }
}

TEST(SymbolFileWriter, GivesNoNumberThatItCouldNotMakeDurable) {
  const TemporaryFolder folder;
  for (const StorageStep step : {StorageStep::kWrite, StorageStep::kSync, StorageStep::kRename}) {
    RefuseOne full(step);
    EXPECT_TRUE(absl::IsResourceExhausted(NumbersIn(folder, {"a"}, &full).status()));
    EXPECT_FALSE(std::filesystem::exists(folder / "sym"));
  }
  ASSERT_TRUE(NumbersIn(folder, {"a"}).ok());
  const std::string before = FileBytes(folder / "sym");
  RefuseOne full(StorageStep::kSync);
  absl::StatusOr<std::unique_ptr<SymbolFileWriter>> file =
      SymbolFileWriter::Open(folder.path(), Storage(&full));
  const std::string_view names[] = {"b"};
  EXPECT_TRUE(absl::IsResourceExhausted((*file)->Numbers(names).status()));
  EXPECT_EQ((*file)->size(), 1);
  EXPECT_EQ(FileBytes(folder / "sym"), before);
}

TEST(SymbolFileWriter, HasOneWriterAtATime) {
  const TemporaryFolder folder;
  const absl::StatusOr<std::unique_ptr<SymbolFileWriter>> first =
      SymbolFileWriter::Open(folder.path(), Storage());
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(absl::IsUnavailable(SymbolFileWriter::Open(folder.path(), Storage()).status()));
}

// Goal: names of past days are not lost because a file system cannot say whether there is a sym
// file. Method: a link that leads to itself, which cannot be looked up either.
TEST(SymbolFileWriter, MakesNoNewFileIfItCannotLookForTheOldOne) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("sym", folder / "sym");
  EXPECT_THAT(Message(NumbersIn(folder, {"a"}).status()), HasSubstr("/sym: stat: Too many"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "sym"));
}

TEST(SymbolFileWriter, SaysWhatItFoundInsteadOfNames) {
  const TemporaryFolder folder;
  for (const std::string_view bytes : {std::string_view("kxzipped........"),
                                       std::string_view("\xff\x01", 2), std::string_view()}) {
    PutFile(folder / "sym", bytes);
    const absl::Status status = NumbersIn(folder, {"a"}).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("/sym: "));
  }
}

}  // namespace
}  // namespace tickstack::disk
