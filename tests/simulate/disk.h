#pragma once

// The disk of a simulated machine. Files are real ones below a directory in memory. The disk also
// records their durable state:
//
//   a file        its bytes as of the last fsync, and every write and truncation since
//   a directory   its names as of the last fsync, and every creation, renaming and removal since
//
// The simulated kernel writes back what is older than kWriteBackNs. Linux does so after 30 s by
// default.
//
// A power cut replaces the files by what a disk may keep. A directory keeps the first of the
// changes since its last fsync; a renaming is kept in both directories or in none. A file keeps
// none, all, or the first of the changes since its last fsync; or each of its sectors keeps the
// changes up to some time of its own, with zeros in a sector that did not exist then, and the file
// has any size that it had meanwhile; or it keeps all, except for a few sectors that are older. A
// file's fsync does not make its name durable. An fsync may take a while, and makes durable only
// what was written before it began.
//
// An fsync that fails drops the pages that it should have written, as Linux does: they can be read
// until a power cut, later fsyncs do not write them, and a write to such a page makes the whole
// page dirty again.
//
// A process that is killed leaves all that it wrote, and possibly a part of its last write.

#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tickstack::simulate {

class Process;
class World;

class Disk {
 public:
  Disk(World& world, std::string root);
  ~Disk();

  static constexpr int64_t kWriteBackNs = 60'000'000'000;

  const std::string& root() const { return root_; }
  bool Has(std::string_view path) const;
  bool Has(int fd) const { return open_.contains(fd); }

  // System calls. After an error they return -1 and set errno, like the kernel's. `fd` and paths
  // must be the disk's.
  int Open(const char* path, int flags, mode_t mode);
  void OnClosed(int fd) {
    open_.erase(fd);
    paths_.erase(fd);
  }
  ssize_t ReadAt(int fd, void* bytes, size_t count, off_t offset);
  ssize_t WriteAt(int fd, const iovec* parts, int count, off_t offset);
  int Truncate(int fd, off_t bytes);
  int Sync(int fd);
  int Rename(const char* from, const char* to);
  int Remove(const char* path);  // A file, or an empty directory.
  int MakeDirectory(const char* path, mode_t mode);

  void CutPower();
  // Replaces the disk by an empty one. No file may be open.
  void Lose();

  // ---- Errors.
  // While the disk is full, calls that would add to it fail with ENOSPC, perhaps after a part of a
  // write.
  void set_full(bool full) { full_ = full; }
  bool is_full() const { return full_; }
  enum class Call : uint8_t { kRead, kWrite, kSync };
  // One call of this kind fails with EIO, after `calls` others: a call of `process`, or of any
  // process if that is nullptr. A write may fail after a part of it.
  void FailCall(Call call, const Process* process, uint64_t calls) {
    errors_[static_cast<size_t>(call)].next = {process, calls};
  }
  // Until further notice, one in `one_in` calls of this kind fails with EIO; 0: none.
  void FailCalls(Call call, uint64_t one_in) { errors_[static_cast<size_t>(call)].one_in = one_in; }
  void CallOffErrors() {
    full_ = false;
    errors_ = {};
  }
  // The last sync of a file that failed with EIO.
  struct FailedSync {
    std::string path;
    const Process* process = nullptr;
    int64_t time_ns = 0;
    uint64_t number = 0;         // 0: none has failed.
    uint64_t refused_calls = 0;  // With this one.
  };
  const FailedSync& failed_sync() const { return failed_sync_; }
  uint64_t failed_calls() const { return failed_calls_; }  // Calls that failed with EIO.
  // These, and calls that failed because the disk was full.
  uint64_t refused_calls() const { return failed_calls_ + full_calls_; }
  // Sets the longest duration of a sync. Syncs on the thread of a process's loop take less.
  void set_sync_ns_max(int64_t ns) { sync_ns_max_ = ns; }
  // Sets the number of bytes that the disk writes as a whole: a page of the kernel, or a part of
  // it.
  void set_sector_bytes(uint64_t bytes) { sector_bytes_ = bytes; }
  // True if files below `folder` lost bytes in the last power cut that a failed sync had dropped.
  bool LostDropped(std::string_view folder) const;
  // True if a failed sync dropped bytes of this file that no later one has made durable.
  bool HasDropped(const std::string& path) const;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Change;
  struct NameChange;
  struct Place {
    NodePtr directory;
    std::string name;
  };

  // The calls of a kind that fail.
  struct Errors {
    struct Next {
      const Process* process;
      uint64_t calls;  // Number of calls before it.
    };
    std::optional<Next> next = {};
    uint64_t one_in = 0;
  };

  Place Find(std::string_view path) const;
  bool Fails(Call call);
  int WriteError(int fd, uint64_t end);
  static NodePtr NodeAt(const Place& place);
  void ChangeNames(std::vector<std::pair<Place, NodePtr>> edits);
  static void Apply(NameChange& change);
  static void SyncNames(Node& directory, const std::shared_ptr<NameChange>& last);
  static void Apply(const Change& change, std::string& bytes);
  bool PassTimeOfSync();
  void FailSync(int fd, Node& file);
  static void Drop(Node& file);
  void WriteDroppedPagesAgain(int fd, Node& file, uint64_t begin, uint64_t end);
  std::string LeftOf(Node& file);
  std::vector<size_t> DrawVersions(const Node& file, uint64_t size_max);
  std::vector<size_t> DrawOldSectors(const Node& file, uint64_t size_max);
  void CheckFiles(const std::string& path, const Node& node);
  void LoseNames(Node& directory);
  void Restore(const std::string& path, Node& node);

  World& world_;
  const std::string root_;
  const NodePtr tree_;
  std::unordered_map<int, NodePtr> open_;
  std::unordered_map<int, std::string> paths_;
  bool full_ = false;
  std::array<Errors, 3> errors_ = {};  // By Call.
  uint64_t failed_calls_ = 0, full_calls_ = 0;
  FailedSync failed_sync_;
  int64_t sync_ns_max_ = 0;
  uint64_t sector_bytes_ = 4096;
  std::vector<std::string> lost_dropped_;  // Files of LostDropped.
};

}  // namespace tickstack::simulate
