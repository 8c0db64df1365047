#include "tests/simulate/damage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "disk/partition_name.h"
#include "tests/simulate/rows.h"
#include "tests/simulate/system_calls.h"
#include "tplog/tplog_recovery.h"
#include "tplog/tplog_state.h"

namespace tickstack::simulate {
namespace {

constexpr const char* kCopies = "damaged";

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code absent;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, absent)) {
    if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// What a log, its index and its state say.
struct LogContent {
  TableTexts rows;
  NameMap<tplog::TableRows> feed_rows;
};

absl::StatusOr<LogContent> ReadAndRecover(const std::string& path, const tplog::TplogState& state) {
  LogContent content;
  TS_ASSIGN_OR_RETURN(content.rows, TextsOfLog(path));
  tplog::RecoverOptions options;
  options.boot = state.boot;
  options.mount = state.mount;
  TS_ASSIGN_OR_RETURN(const tplog::RecoveredTplog recovered, tplog::RecoverTplog(path, options));
  content.feed_rows = recovered.totals.feed_rows;
  return content;
}

std::string CheckLog(const std::string& log, const Host& machine, Random& random) {
  const std::string folder = std::string(kCopies) + "/log";
  const auto copy = [&] {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    for (const char* const suffix : {"", ".idx", ".state"}) {
      if (std::filesystem::exists(log + suffix)) {
        std::filesystem::copy_file(log + suffix, folder + "/sym" + suffix);
      }
    }
  };
  const std::string path = folder + "/sym";
  copy();
  const absl::StatusOr<tplog::TplogState> state = tplog::ReadTplogState(path);
  // After a power cut or a failed sync, what differs counts as lost.
  if (!state.ok() || state->synced || state->MayHaveLostPages(machine.Boot(), machine.Mount())) {
    return "";
  }
  const absl::StatusOr<LogContent> sound = ReadAndRecover(path, *state);
  if (!sound.ok()) return fmt::format("{}: {}", log, Message(sound.status()));
  copy();
  const std::vector<std::string> files = FilesIn(folder);
  const auto flipped = FlippedBit::Draw(files[random.Below(files.size())], random);
  const std::string where = fmt::format("{}, {}: ", log, flipped->where());
  if (const absl::StatusOr<TableTexts> read = TextsOfLog(path); read.ok() && *read != sound->rows) {
    return where + "other rows are read";
  }
  tplog::RecoverOptions options;
  options.boot = state->boot;
  options.mount = state->mount;
  const absl::StatusOr<tplog::RecoveredTplog> recovered = tplog::RecoverTplog(path, options);
  if (!recovered.ok()) return "";
  const absl::StatusOr<TableTexts> read = TextsOfLog(path);
  if (read.ok() && *read != sound->rows) return where + "other rows are read after a recovery";
  const bool knows = recovered->totals.feed_progress_known;
  if (knows && recovered->totals.feed_rows != sound->feed_rows) {
    return where + "feeds have another progress after a recovery";
  }
  return "";
}

std::string CheckDatabase(const std::string& database, int32_t date, Random& random) {
  const std::string copy = std::string(kCopies) + "/hdb";
  std::filesystem::remove_all(copy);
  std::filesystem::copy(database, copy, std::filesystem::copy_options::recursive);
  const absl::StatusOr<TableTexts> sound = TextsOfPartition(copy, date);
  if (!sound.ok()) return fmt::format("{}: {}", FormatDate(date), Message(sound.status()));
  std::vector<std::string> files = FilesIn(copy);
  // Leaves out files of other days.
  const std::string day = FormatDate(date);
  std::erase_if(files, [&](const std::string& file) {
    const std::string rest = file.substr(copy.size() + 1);
    return rest.find('/') != std::string::npos && !rest.starts_with(day);
  });
  const auto flipped = FlippedBit::Draw(files[random.Below(files.size())], random);
  const absl::StatusOr<TableTexts> read = TextsOfPartition(copy, date);
  if (!read.ok() || *read == *sound) return "";
  return flipped->where() + ": other rows are read";
}

}  // namespace

FlippedBit::FlippedBit(std::string path, uint64_t byte, unsigned bit)
    : path_(std::move(path)),
      byte_(static_cast<off_t>(byte)),
      mask_(static_cast<char>(1u << bit)),
      where_(fmt::format("{} with bit {} of byte {} flipped", path_, bit, byte)) {
  const int fd = real::Open(path_.c_str(), O_RDWR, 0);
  struct stat status{};
  TS_CHECK(fd >= 0 && ::fstat(fd, &status) == 0);
  inode_ = status.st_ino;
  TS_CHECK(real::ReadAt(fd, &flipped_, 1, byte_) == 1);
  flipped_ = static_cast<char>(flipped_ ^ mask_);
  TS_CHECK(real::WriteAt(fd, &flipped_, 1, byte_) == 1);
  real::Close(fd);
}

FlippedBit::~FlippedBit() {
  const int fd = real::Open(path_.c_str(), O_RDWR, 0);
  struct stat status{};
  char byte = 0;
  const bool is_there = fd >= 0 && ::fstat(fd, &status) == 0 && status.st_ino == inode_ &&
                        real::ReadAt(fd, &byte, 1, byte_) == 1 && byte == flipped_;
  byte = static_cast<char>(byte ^ mask_);
  if (is_there) TS_CHECK(real::WriteAt(fd, &byte, 1, byte_) == 1);
  if (fd >= 0) real::Close(fd);
}

std::unique_ptr<FlippedBit> FlippedBit::Draw(const std::string& path, Random& random) {
  constexpr uint64_t kTailBytes = 100;  // What was written last is often special.
  const uint64_t bytes = std::filesystem::file_size(path);
  const uint64_t end = random.OneIn(2) ? std::min(bytes, kTailBytes) : bytes;
  const uint64_t byte = bytes - 1 - random.Below(end);
  return std::make_unique<FlippedBit>(path, byte, static_cast<unsigned>(random.Below(8)));
}

std::string FindWrongRowsInDamagedFiles(const StackOptions& options, const Host& machine,
                                        Random& random, int flips) {
  std::vector<std::string> logs;
  std::vector<int32_t> days;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(options.LogFolder(), absent)) {
    const std::string name = entry.path().filename();
    if (ParseDate(std::string_view(name).substr(3))) logs.push_back(entry.path());
  }
  for (const auto& entry : std::filesystem::directory_iterator(options.Database(), absent)) {
    if (const auto date = ParseDate(entry.path().filename().string())) days.push_back(*date);
  }
  std::ranges::sort(logs);
  std::ranges::sort(days);
  std::string wrong;
  for (int i = 0; i < flips && wrong.empty(); ++i) {
    if (!logs.empty()) wrong = CheckLog(logs[random.Below(logs.size())], machine, random);
    if (!wrong.empty() || days.empty()) continue;
    wrong = CheckDatabase(options.Database(), days[random.Below(days.size())], random);
  }
  std::filesystem::remove_all(kCopies, absent);
  return wrong;
}

}  // namespace tickstack::simulate
