#pragma once

// A world in which the processes of a stack live, in one thread and with simulated time:
//
//   World   time, the scheduler, and which process runs
//   Network connections between processes, which can be slow, cut or reset   (network.h)
//   Disk    a machine's files, and what of them a power cut leaves           (disk.h)
//   Threads threads that processes start, one of which runs at a time        (threads.h)
//
// A process is the real code of a service on an event loop of its own, and on loops of the threads
// that it starts. It may be killed in the middle of any change to a file. Nothing that it does
// afterwards has an effect, and its objects are destroyed once its call has returned. Everything
// that happens by chance comes from one seed, so a life repeats exactly.
//
// A world has one machine with a disk, or several (AddMachine). Each has a folder of its own, which
// is the working directory while its processes run, so that their paths are the same.
//
// Files, time and threads are simulated below the system calls that libraries make
// (system_calls.cc), so the services' code needs no hooks for them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "tests/simulate/disk.h"
#include "tests/simulate/network.h"
#include "tests/simulate/random.h"
#include "tests/simulate/threads.h"
#include "wire/event_loop.h"

namespace tickstack::simulate {

class World;

// A process's death in a change to a file.
struct Death {
  enum class In : uint8_t {
    kChange,      // Any change.
    kNameChange,  // A new, renamed or removed file, or a shorter one.
    kLargeWrite,  // A write of kLargeBytes or more.
    kSync,        // A sync of a file or directory, which has no effect then.
  };
  static constexpr uint64_t kLargeBytes = 300;

  In in = In::kChange;
  int64_t steps = -1;  // Number of such changes before the death; -1: it does not die.
  bool is_power_cut = false;

  bool Counts(std::string_view what, uint64_t bytes) const;
};

// The clock of a machine, which somebody may set.
class MachineClock final : public Clock {
 public:
  explicit MachineClock(const Clock& right) : right_(right) {}
  int64_t NowNs() const override { return right_.NowNs() + ahead_ns_; }
  int64_t MonotonicNs() const override { return right_.MonotonicNs(); }
  void set_ahead_ns(int64_t ns) { ahead_ns_ = ns; }

 private:
  const Clock& right_;
  int64_t ahead_ns_ = 0;
};

// A machine with a disk. A power cut stops its processes.
struct Host {
  Host(World& world, std::string its_folder, const std::string& root, const Clock& right)
      : folder(std::move(its_folder)), disk(world, root), clock(right) {}

  const std::string folder;  // The working directory of its processes; empty: the world's.
  Disk disk;
  MachineClock clock;
  int64_t boots = 1;
  int64_t mounts = 1;  // Mounts of its file system: each loss of the page cache is followed by one.
  bool power_is_cut = false;
  bool has_lost_disk = false;  // In the last power cut.

  std::string Boot() const { return "boot-" + std::to_string(boots); }
  std::string Mount() const { return "mount-" + std::to_string(mounts); }
};

// The objects of a running process. Destroying them is how a killed process ends.
class Program {
 public:
  virtual ~Program() = default;
  virtual void Stop() {}  // What the process does on SIGTERM, before it is destroyed.
};

// A process of the stack, running or not. Its events are called with World::current() set to it.
class Process final : public wire::TimeSource {
 public:
  using Start = std::function<absl::StatusOr<std::unique_ptr<Program>>(Process&)>;
  // `machine`: nullptr for the machine without a disk.
  Process(World& world, std::string name, Host* machine, Start start);

  World& world() { return world_; }
  const std::string& name() const { return name_; }
  wire::EventLoop& loop() { return *loop_; }
  Program* program() { return program_.get(); }          // nullptr: it does not run.
  bool has_disk() const { return machine_ != nullptr; }  // It is on a machine with a disk.
  Host* machine() { return machine_; }
  bool is_dead() const { return dead_; }
  bool is_stalled() const;
  bool is_cut_off() const;  // It cannot connect.
  uint64_t starts() const { return starts_; }
  const absl::Status& start_error() const { return start_error_; }  // Why the last start failed.
  // Ends the process after the current event, by its own decision.
  void Exit() {
    exits_ = true;
    if (!dead_) ++exits_by_itself_;
  }
  uint64_t exits_by_itself() const { return exits_by_itself_; }

  const Clock& clock() const override;
  std::unique_ptr<wire::Alarm> MakeAlarm(std::function<void()> function) override;

 private:
  friend class World;
  World& world_;
  const std::string name_;
  Host* const machine_;
  const Start start_;
  ProcessNetwork network_;
  std::unique_ptr<wire::EventLoop> loop_;
  std::unique_ptr<Program> program_;
  bool dead_ = false;  // Killed, and its objects are not destroyed yet.
  bool exits_ = false;
  int64_t start_ns_ = 0;          // When it will start, if it does not run.
  int64_t down_until_ns_ = 0;     // It does not start before.
  int64_t stalled_until_ns_ = 0;  // It gets no processor time before.
  int64_t cut_off_until_ns_ = 0;  // It cannot connect before.
  Death death_;
  Death next_death_;  // Becomes death_ at its next start.
  uint64_t starts_ = 0;
  uint64_t exits_by_itself_ = 0;
  absl::Status start_error_;
};

// Chances of trouble that comes without being scheduled; 0: never.
struct Chances {
  uint64_t slow_read = 0;  // One read in `slow_read` waits up to `slow_read_ns`.
  int64_t slow_read_ns = 0;
  uint64_t short_write = 0;    // One write in `short_write` takes only a part of the bytes.
  int64_t latency_ns_max = 0;  // Each end of a connection has its own latency, up to this.
};

class World final : public Clock, public wire::Surroundings {
 public:
  // `root`: an empty directory for the disk.
  World(uint64_t seed, const std::string& root, int64_t now_ns);
  ~World() override;
  void End();  // Ends all processes, before anything that they use is destroyed.

  Random& random() { return random_; }
  Host& machine() { return *machines_.front(); }
  Disk& disk() { return machine().disk; }
  Threads& threads() { return threads_; }
  wire::MemoryNetwork& wires() { return wires_; }
  Connections& connections() { return connections_; }
  Process* current() { return current_; }
  void set_current(Process* process);
  // The killed process whose objects are being destroyed; nullptr: there is none. It has a time of
  // its own, which goes on while it waits for its threads. For all others, it ends in no time.
  const Process* buried() const { return buried_; }
  Chances& chances() { return chances_; }

  int64_t NowNs() const override { return monotonic_ns_ + wall_offset_ns_; }
  int64_t MonotonicNs() const override { return monotonic_ns_; }
  void AdvanceTo(int64_t monotonic_ns);
  // The time and network of a loop that a process makes; the system's for other loops.
  std::unique_ptr<wire::TimeSource> MakeTime(wire::EventLoop& loop) override;
  wire::Network& NetworkOf(wire::EventLoop& loop) override;
  void JumpClock(int64_t ns) { wall_offset_ns_ += ns; }  // As if somebody had set the clock.
  // The clock of the machine with the disk, or of the one without.
  MachineClock& clock_of(bool has_disk) { return has_disk ? machine().clock : other_clock_; }

  // Adds a machine whose processes run in `folder`, an existing directory with an empty directory
  // `root`. Machines whose processes run in the same folder have different roots. An empty root is
  // that of the first machine.
  Host& AddMachine(std::string folder, const std::string& root = "");
  // Makes the folder of a machine the working directory, so that its files can be read.
  void Enter(const Host& machine);
  // Returns the disk that has the path, of the machines whose folder is the working directory.
  Disk* DiskOf(std::string_view path);
  Disk* DiskOf(int fd);  // nullptr: it is on no disk.

  // Adds a process, which starts at once, and again after each death.
  Process& Add(std::string name, bool has_disk, Process::Start start) {
    return Add(std::move(name), has_disk ? &machine() : nullptr, std::move(start));
  }
  Process& Add(std::string name, Host* machine, Process::Start start);
  std::vector<std::unique_ptr<Process>>& processes() { return processes_; }

  // ---- Trouble. A dead process starts again after a while.
  void Kill(Process& process);
  void StopInOrder(Process& process);
  void CutPower() { CutPower(machine()); }
  void CutPower(Host& machine);  // Stops the machine.
  // Stops the machine, which gets an empty disk.
  void LoseDisk(Host& machine);
  void DieIn(Process& process, Death death) { process.death_ = death; }
  // Like DieIn, but counts from the next start: a crash during the recovery from another one.
  void DieAfterNextStart(Process& process, Death death) { process.next_death_ = death; }
  void Stall(Process& process, int64_t ns);
  void CutOff(Process& process, int64_t ns);    // Resets its connections, and refuses new ones.
  void KeepDown(Process& process, int64_t ns);  // Kills it, and starts it after `ns` or later.
  void CallOffCutOffs();
  void CallOffDownTimes();
  void CallOffDeaths();  // Calls off the deaths that have not happened yet.
  void CallOffTrouble();
  int64_t power_cuts() const;
  void OnStart(std::function<void(Process&)> function) { on_start_ = std::move(function); }
  // Called when a machine's power was cut, before its processes start again.
  void OnPowerCut(std::function<void(Host&)> function) { on_power_cut_ = std::move(function); }
  void set_restart_ns_max(int64_t ns) { restart_ns_max_ = ns; }

  // Runs until `done()`, which is asked after each event, or for `at_most_ns`. True if `done()`.
  bool RunUntil(const std::function<bool()>& done, int64_t at_most_ns);
  void At(int64_t monotonic_ns, std::function<void()> function);  // Calls it in between events.

  // A hash of everything that happened, in order.
  uint64_t trace() const { return trace_; }
  void Trace(std::string_view what, uint64_t value);

  // ---- Descriptors other than those of connections and files, such as that of lines. A loop that
  // watches one asks the kernel for events while it is readable.
  void SetReadable(int fd, bool readable) { readable_[fd] = readable; }
  void ForgetDescriptor(int fd) { readable_.erase(fd); }
  void OnWatched(int epoll_fd, int fd) {
    if (readable_.contains(fd)) watched_[epoll_fd] = fd;
  }
  void OnClosed(int fd) { watched_.erase(fd); }
  bool HasReadable(int epoll_fd) const;

  // ---- For the disk: a process is about to change a file.
  // False if the change must have no effect, because the process is dead. `part`: bytes of a write
  // that still reach the file if the process dies in it.
  bool MayChange(std::string_view what, uint64_t bytes, uint64_t* part);
  // Returns the time of the last change to a file that a process attempted; syncs count, too.
  int64_t changed_ns() const { return changed_ns_; }

 private:
  friend class Process;
  class PendingAlarm;
  class LoopTime;
  using Alarms = std::multimap<int64_t, PendingAlarm*>;

  bool Step(int64_t until_ns);
  bool RunOneOf(size_t number);
  bool FireAlarm();
  int64_t NextNs() const;
  void StartProcess(Process& process);
  void BuryTheDead();
  void Bury(Process& process);
  void BuryMachine(Host& machine);

  Random random_;
  int64_t monotonic_ns_ = 1'000 * kNsPerSecond;
  int64_t wall_offset_ns_;
  const std::string root_;
  MachineClock other_clock_{*this};
  std::vector<std::unique_ptr<Host>> machines_;
  const Host* entered_ = nullptr;  // Its folder is the working directory.
  int base_ = -1;                  // The world's own working directory, if there are several.
  Threads threads_;
  wire::MemoryNetwork wires_;
  Connections connections_;
  Alarms alarms_;
  std::map<int, bool> readable_;  // By descriptor.
  std::map<int, int> watched_;    // By epoll descriptor: the one that its loop watches.
  std::multimap<int64_t, std::function<void()>> events_;
  std::vector<std::unique_ptr<Process>> processes_;
  Process* current_ = nullptr;
  const Process* buried_ = nullptr;
  Chances chances_;
  int64_t changed_ns_ = 0;
  int64_t restart_ns_max_ = 3 * kNsPerSecond;
  std::function<void(Process&)> on_start_;
  std::function<void(Host&)> on_power_cut_;
  uint64_t trace_ = 0xcbf29ce484222325;
};

// The world whose processes' system calls are simulated; nullptr: none are.
extern World* the_world;

}  // namespace tickstack::simulate
