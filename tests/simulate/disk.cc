#include "tests/simulate/disk.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "tests/simulate/system_calls.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

namespace {
constexpr uint64_t kPageBytes = 4096;
}

// A change to a file that is not durable.
struct Disk::Change {
  uint64_t offset = 0;     // Where a write begins; the new size of a truncation.
  std::string bytes = {};  // Empty for a truncation.
  bool truncates = false;
  bool extends = false;  // Only the size of a write whose bytes were dropped.
  int64_t time_ns = 0;
};

// A change to directories that is not durable: names that get a node, or lose theirs.
struct Disk::NameChange {
  struct Edit {
    Node* directory;
    std::string name;
    NodePtr node;  // nullptr: the name is removed.
  };
  std::vector<Edit> edits;
  int64_t time_ns = 0;
  bool applied = false;
};

struct Disk::Node {
  bool is_directory = false;
  // A file.
  std::string durable;
  std::vector<Change> changes;
  uint64_t changes_synced = 0;       // Number of changes that are durable and no longer there.
  std::set<uint64_t> dropped_pages;  // They differ from what is durable, and no sync writes them.
  bool has_dropped = false;          // A sync failed, and none has made up for it since.
  // A directory.
  std::map<std::string, NodePtr, std::less<>> names, durable_names;
  std::deque<std::shared_ptr<NameChange>> name_changes;
};

Disk::Disk(World& world, std::string root)
    : world_(world), root_(std::move(root)), tree_(std::make_shared<Node>()) {
  tree_->is_directory = true;
}

Disk::~Disk() = default;

bool Disk::Has(std::string_view path) const {
  return path.starts_with(root_) && (path.size() == root_.size() || path[root_.size()] == '/');
}

// Returns the directory and last name of a path; no directory if that does not exist.
Disk::Place Disk::Find(std::string_view path) const {
  NodePtr directory = tree_;
  std::string name;
  for (const auto& part : std::filesystem::path(path.substr(root_.size())).relative_path()) {
    if (!name.empty()) {
      const auto found = directory->names.find(name);
      if (found == directory->names.end() || !found->second->is_directory) return {};
      directory = found->second;
    }
    if (!part.empty() && part != ".") name = part;
  }
  return {std::move(directory), std::move(name)};
}

Disk::NodePtr Disk::NodeAt(const Place& place) {
  if (place.directory == nullptr) return nullptr;
  const auto found = place.directory->names.find(place.name);
  return found == place.directory->names.end() ? nullptr : found->second;
}

void Disk::ChangeNames(std::vector<std::pair<Place, NodePtr>> edits) {
  auto change = std::make_shared<NameChange>();
  change->time_ns = world_.MonotonicNs();
  for (auto& [place, node] : edits) {
    if (node == nullptr) {
      place.directory->names.erase(place.name);
    } else {
      place.directory->names[place.name] = node;
    }
    change->edits.push_back({place.directory.get(), place.name, node});
    std::deque<std::shared_ptr<NameChange>>& changes = place.directory->name_changes;
    if (changes.empty() || changes.back() != change) changes.push_back(change);
  }
}

// Makes a change durable, after all earlier ones of its directories.
void Disk::Apply(NameChange& change) {
  if (std::exchange(change.applied, true)) return;
  for (const NameChange::Edit& edit : change.edits) {
    for (const std::shared_ptr<NameChange>& earlier : edit.directory->name_changes) {
      if (earlier.get() == &change) break;
      Apply(*earlier);
    }
  }
  for (const NameChange::Edit& edit : change.edits) {
    if (edit.node == nullptr) {
      edit.directory->durable_names.erase(edit.name);
    } else {
      edit.directory->durable_names[edit.name] = edit.node;
    }
  }
}

// Makes the changes up to `last` durable; nullptr: none.
void Disk::SyncNames(Node& directory, const std::shared_ptr<NameChange>& last) {
  if (last != nullptr) Apply(*last);
  while (!directory.name_changes.empty() && directory.name_changes.front()->applied) {
    directory.name_changes.pop_front();
  }
}

int Disk::Open(const char* path, int flags, mode_t mode) {
  const Place place = Find(path);
  NodePtr node = NodeAt(place);
  const bool creates = node == nullptr && (flags & O_CREAT) != 0 && place.directory != nullptr;
  const bool truncates = node != nullptr && (flags & O_TRUNC) != 0;
  if ((creates || truncates) && !world_.MayChange("create", 0, nullptr)) {
    errno = EIO;
    return -1;
  }
  if (creates && full_) {
    ++full_calls_;
    errno = ENOSPC;
    return -1;
  }
  const int fd = real::Open(path, flags, mode);
  if (fd < 0) return -1;
  if (creates) {
    node = std::make_shared<Node>();
    ChangeNames({{place, node}});
  }
  if (truncates) node->changes.push_back({.truncates = true, .time_ns = world_.MonotonicNs()});
  if (node != nullptr || place.name.empty()) paths_[fd] = path;
  if (node != nullptr) {
    open_[fd] = std::move(node);
  } else if (place.name.empty()) {
    open_[fd] = tree_;
  }
  return fd;
}

// True if this call is to fail. The world's own calls, which are the oracle's, do not.
bool Disk::Fails(Call call) {
  const Process* const process = world_.current();
  if (process == nullptr) return false;
  Errors& errors = errors_[static_cast<size_t>(call)];
  const bool counts =
      errors.next && (errors.next->process == nullptr || errors.next->process == process);
  const bool is_next = counts && errors.next->calls-- == 0;
  if (is_next) errors.next.reset();
  const bool fails = is_next || (errors.one_in > 0 && world_.random().OneIn(errors.one_in));
  if (fails) ++failed_calls_;
  return fails;
}

// Returns the error of a write that ends at `end`; 0 if it succeeds.
int Disk::WriteError(int fd, uint64_t end) {
  if (Fails(Call::kWrite)) return EIO;
  struct stat status{};
  TS_CHECK(::fstat(fd, &status) == 0);
  if (!full_ || end <= static_cast<uint64_t>(status.st_size)) return 0;
  ++full_calls_;
  return ENOSPC;
}

ssize_t Disk::ReadAt(int fd, void* bytes, size_t count, off_t offset) {
  if (Fails(Call::kRead)) {
    world_.Trace("read error", count);
    errno = EIO;
    return -1;
  }
  return real::ReadAt(fd, bytes, count, offset);
}

ssize_t Disk::WriteAt(int fd, const iovec* parts, int count, off_t offset) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  }
  uint64_t part = 0;
  const bool dies = !world_.MayChange("write", bytes.size(), &part);
  const int error = dies ? EIO : WriteError(fd, static_cast<uint64_t>(offset) + bytes.size());
  if (error != 0 && !dies) {
    world_.Trace("write error", static_cast<uint64_t>(error));
    part = world_.random().OneIn(2) ? world_.random().Below(bytes.size() + 1) : 0;
    // A write that was cut short is told of its error when it goes on.
    if (error == EIO && part > 0 && part < bytes.size()) {
      FailCall(Call::kWrite, world_.current(), 0);
    }
  }
  if (error != 0) bytes.resize(part);
  if (!bytes.empty()) {
    TS_CHECK(real::WriteAt(fd, bytes.data(), bytes.size(), offset) ==
             static_cast<ssize_t>(bytes.size()));
    const auto begin = static_cast<uint64_t>(offset);
    open_[fd]->changes.push_back(
        {.offset = begin, .bytes = bytes, .time_ns = world_.MonotonicNs()});
    WriteDroppedPagesAgain(fd, *open_[fd], begin, begin + bytes.size());
  }
  if (error == 0 || (!dies && part > 0)) return static_cast<ssize_t>(bytes.size());
  errno = error;
  return -1;
}

int Disk::Truncate(int fd, off_t bytes) {
  if (!world_.MayChange("truncate", static_cast<uint64_t>(bytes), nullptr)) {
    errno = EIO;
    return -1;
  }
  open_[fd]->changes.push_back(
      {.offset = static_cast<uint64_t>(bytes), .truncates = true, .time_ns = world_.MonotonicNs()});
  return real::Truncate(fd, bytes);
}

int Disk::Sync(int fd) {
  if (!world_.MayChange("sync", 0, nullptr)) {
    errno = EIO;
    return -1;
  }
  const NodePtr node = open_[fd];
  const uint64_t end = node->changes_synced + node->changes.size();
  const std::shared_ptr<NameChange> last_name =
      node->name_changes.empty() ? nullptr : node->name_changes.back();
  if (!PassTimeOfSync()) {
    errno = EIO;
    return -1;
  }
  if (node->is_directory) {
    SyncNames(*node, last_name);
    return 0;
  }
  if (Fails(Call::kSync)) {
    FailSync(fd, *node);
    errno = EIO;
    return -1;
  }
  if (node->dropped_pages.empty()) node->has_dropped = false;
  if (end <= node->changes_synced) return 0;  // Another sync was faster.
  const auto synced =
      node->changes.begin() + static_cast<std::ptrdiff_t>(end - node->changes_synced);
  for (auto change = node->changes.begin(); change != synced; ++change) {
    Apply(*change, node->durable);
  }
  node->changes.erase(node->changes.begin(), synced);
  node->changes_synced = end;
  return 0;
}

// False if the process dies meanwhile.
bool Disk::PassTimeOfSync() {
  Process* const process = world_.current();
  if (sync_ns_max_ == 0 || process == nullptr) return true;
  const int64_t ns_max = world_.threads().IsCaller() ? sync_ns_max_ : sync_ns_max_ / 16;
  world_.threads().Sleep(world_.random().Between(0, ns_max));
  return !process->is_dead();
}

void Disk::FailSync(int fd, Node& file) {
  world_.Trace("sync error", file.changes.size());
  failed_sync_ = {paths_[fd], world_.current(), world_.MonotonicNs(), failed_sync_.number + 1,
                  refused_calls()};
  Drop(file);
}

// A sync failed: the kernel takes the pages for clean.
void Disk::Drop(Node& file) {
  file.has_dropped = true;
  std::vector<Change> kept;
  for (Change& change : std::exchange(file.changes, {})) {
    const uint64_t end = change.offset + change.bytes.size();
    for (uint64_t page = change.offset / kPageBytes; page * kPageBytes < end; ++page) {
      if (!change.truncates) file.dropped_pages.insert(page);
    }
    // Sizes are in the file system's journal.
    if (!change.truncates) change.extends = true, change.offset = end, change.bytes.clear();
    kept.push_back(std::move(change));
  }
  file.changes = std::move(kept);
}

void Disk::WriteDroppedPagesAgain(int fd, Node& file, uint64_t begin, uint64_t end) {
  for (uint64_t page = begin / kPageBytes; page * kPageBytes < end; ++page) {
    if (file.dropped_pages.erase(page) == 0) continue;
    std::string bytes(kPageBytes, '\0');
    const ssize_t got =
        real::ReadAt(fd, bytes.data(), bytes.size(), static_cast<off_t>(page * kPageBytes));
    TS_CHECK(got >= 0);
    bytes.resize(static_cast<size_t>(got));
    file.changes.push_back(
        {.offset = page * kPageBytes, .bytes = bytes, .time_ns = world_.MonotonicNs()});
  }
}

bool Disk::LostDropped(std::string_view folder) const {
  return std::ranges::any_of(
      lost_dropped_, [folder](const std::string& path) { return path.starts_with(folder); });
}

bool Disk::HasDropped(const std::string& path) const {
  const NodePtr node = NodeAt(Find(path));
  if (node == nullptr || !node->has_dropped) return false;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  // A page that was cut off, or whose rest is durable, is none.
  return std::ranges::any_of(node->dropped_pages, [&](uint64_t page) {
    const uint64_t begin = page * kPageBytes;
    if (begin >= bytes.size()) return false;
    const std::string_view read = std::string_view(bytes).substr(begin, kPageBytes);
    if (begin >= node->durable.size()) return true;
    return std::string_view(node->durable).substr(begin, read.size()) != read;
  });
}

int Disk::Rename(const char* from, const char* to) {
  const Place old_place = Find(from), new_place = Find(to);
  const NodePtr node = NodeAt(old_place);
  if (node == nullptr || new_place.directory == nullptr) {
    errno = ENOENT;
    return -1;
  }
  if (!world_.MayChange("rename", 0, nullptr)) {
    errno = EIO;
    return -1;
  }
  if (real::Rename(from, to) != 0) return -1;
  ChangeNames({{old_place, nullptr}, {new_place, node}});
  return 0;
}

int Disk::Remove(const char* path) {
  const Place place = Find(path);
  const NodePtr node = NodeAt(place);
  if (node == nullptr) {
    errno = ENOENT;
    return -1;
  }
  if (!world_.MayChange("remove", 0, nullptr)) {
    errno = EIO;
    return -1;
  }
  if (real::Remove(path, node->is_directory) != 0) return -1;
  ChangeNames({{place, nullptr}});
  return 0;
}

int Disk::MakeDirectory(const char* path, mode_t mode) {
  const Place place = Find(path);
  if (NodeAt(place) != nullptr) {
    errno = EEXIST;
    return -1;
  }
  if (!world_.MayChange("mkdir", 0, nullptr)) {
    errno = EIO;
    return -1;
  }
  if (full_) {
    ++full_calls_;
    errno = ENOSPC;
    return -1;
  }
  if (real::MakeDirectory(path, mode) != 0) return -1;
  auto node = std::make_shared<Node>();
  node->is_directory = true;
  ChangeNames({{place, node}});
  return 0;
}

// ---- power cuts

void Disk::Apply(const Change& change, std::string& bytes) {
  if (change.truncates) return bytes.resize(change.offset);
  if (change.extends) return bytes.resize(std::max<uint64_t>(bytes.size(), change.offset));
  const uint64_t end = change.offset + change.bytes.size();
  if (bytes.size() < end) bytes.resize(end);
  bytes.replace(change.offset, change.bytes.size(), change.bytes);
}

// Returns what a power cut leaves of a file.
std::string Disk::LeftOf(Node& file) {
  const auto recent = std::ranges::find_if(file.changes, [this](const Change& change) {
    return change.time_ns >= world_.MonotonicNs() - kWriteBackNs;
  });
  for (auto change = file.changes.begin(); change != recent; ++change) {
    Apply(*change, file.durable);
  }
  file.changes.erase(file.changes.begin(), recent);
  std::string left = file.durable;
  if (file.changes.empty()) return left;
  Random& random = world_.random();
  const uint64_t how = random.Below(5);
  if (how == 0) return left;
  if (how <= 2) {
    const size_t end = how == 1 ? file.changes.size() : random.Below(file.changes.size() + 1);
    for (size_t i = 0; i < end; ++i) Apply(file.changes[i], left);
    return left;
  }
  // Each sector as it was at some time since the last sync, and the size at some time; or only some
  // sectors are older than the file.
  uint64_t size = left.size();
  std::vector<uint64_t> sizes = {size};
  uint64_t size_max = size;
  for (const Change& change : file.changes) {
    size = change.truncates ? change.offset
                            : std::max<uint64_t>(size, change.offset + change.bytes.size());
    sizes.push_back(size);
    size_max = std::max(size_max, size);
  }
  const bool lacks_few = how == 4;
  const std::vector<size_t> versions =
      lacks_few ? DrawOldSectors(file, size_max) : DrawVersions(file, size_max);
  const uint64_t its_size = lacks_few ? size : sizes[random.Below(sizes.size())];
  for (size_t i = 0; i < file.changes.size(); ++i) {
    const Change& change = file.changes[i];
    if (change.truncates && change.offset < left.size()) {
      for (uint64_t at = change.offset; at < left.size(); ++at) {
        if (i < versions[at / sector_bytes_]) left[at] = '\0';
      }
    }
    for (uint64_t at = 0; at < change.bytes.size();) {
      const uint64_t sector = (change.offset + at) / sector_bytes_;
      const uint64_t bytes =
          std::min(change.bytes.size() - at, (sector + 1) * sector_bytes_ - change.offset - at);
      if (i < versions[sector]) {
        Apply({.offset = change.offset + at, .bytes = change.bytes.substr(at, bytes)}, left);
      }
      at += bytes;
    }
  }
  left.resize(its_size);
  return left;
}

// Returns by sector the number of changes that it has.
std::vector<size_t> Disk::DrawVersions(const Node& file, uint64_t size_max) {
  std::vector<size_t> versions;
  for (uint64_t sector = 0; sector * sector_bytes_ < size_max; ++sector) {
    versions.push_back(world_.random().Below(file.changes.size() + 1));
  }
  return versions;
}

// The same, if a power cut came when all but up to three sectors were written.
std::vector<size_t> Disk::DrawOldSectors(const Node& file, uint64_t size_max) {
  Random& random = world_.random();
  std::vector<size_t> versions(size_max / sector_bytes_ + 1, file.changes.size());
  const auto first = std::ranges::min_element(file.changes, {}, &Change::offset);
  const uint64_t first_sector = first->offset / sector_bytes_;
  for (int64_t n = random.Between(1, 3); n > 0; --n) {
    const uint64_t sector = first_sector + random.Below(versions.size() - first_sector);
    versions[sector] = random.OneIn(2) ? 0 : random.Below(file.changes.size());
  }
  return versions;
}

void Disk::LoseNames(Node& directory) {
  const auto written_back = static_cast<uint64_t>(
      std::ranges::count_if(directory.name_changes, [this](const auto& change) {
        return change->time_ns < world_.MonotonicNs() - kWriteBackNs;
      }));
  const uint64_t others = directory.name_changes.size() - written_back;
  const uint64_t kept = written_back + world_.random().Below(others + 1);
  SyncNames(directory, kept == 0 ? nullptr : directory.name_changes[kept - 1]);
  for (const auto& [name, node] : std::map(directory.durable_names)) {
    if (node->is_directory) LoseNames(*node);
  }
}

void Disk::Restore(const std::string& path, Node& node) {
  if (node.is_directory) {
    if (&node != tree_.get()) TS_CHECK(real::MakeDirectory(path.c_str(), 0755) == 0);
    node.names = node.durable_names;
    node.name_changes.clear();
    for (const auto& [name, child] : node.names) Restore(path + "/" + name, *child);
    return;
  }
  node.durable = LeftOf(node);
  node.changes.clear();
  node.dropped_pages.clear();
  node.has_dropped = false;
  const int fd = real::Open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
  TS_CHECK(fd >= 0);
  TS_CHECK(real::WriteAt(fd, node.durable.data(), node.durable.size(), 0) ==
           static_cast<ssize_t>(node.durable.size()));
  real::Close(fd);
}

// Checks that no file was changed by a call that system_calls.cc does not know.
void Disk::CheckFiles(const std::string& path, const Node& node) {
  if (node.is_directory) {
    for (const auto& [name, child] : node.names) CheckFiles(path + "/" + name, *child);
    return;
  }
  std::string bytes = node.durable;
  for (const Change& change : node.changes) Apply(change, bytes);
  std::ifstream file(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  TS_CHECK(found.size() == bytes.size());
  if (node.has_dropped) lost_dropped_.push_back(path);
  for (size_t begin = 0; begin < bytes.size(); begin += kPageBytes) {
    if (node.dropped_pages.contains(begin / kPageBytes)) continue;
    TS_CHECK(found.compare(begin, kPageBytes, bytes, begin, kPageBytes) == 0);
  }
}

void Disk::CutPower() {
  TS_CHECK(open_.empty());  // All processes are gone.
  lost_dropped_.clear();
  CheckFiles(root_, *tree_);
  LoseNames(*tree_);
  // The names of the whole tree first: a renaming into a directory that is visited later also
  // changes one that was visited before.
  world_.set_current(nullptr);
  for (const auto& entry : std::filesystem::directory_iterator(root_)) {
    std::filesystem::remove_all(entry.path());
  }
  Restore(root_, *tree_);
}

void Disk::Lose() {
  TS_CHECK(open_.empty());
  world_.set_current(nullptr);
  for (const auto& entry : std::filesystem::directory_iterator(root_)) {
    std::filesystem::remove_all(entry.path());
  }
  tree_->names.clear();
  tree_->durable_names.clear();
  tree_->name_changes.clear();
}

}  // namespace tickstack::simulate
