#include "tests/simulate/world.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/logging.h"
#include "base/status.h"

namespace tickstack::simulate {

World* the_world = nullptr;

namespace {

// Processor time of an event: up to this long.
constexpr uint64_t kEventNsMax = 20'000;
constexpr int64_t kStartAgainNs = kNsPerSecond / 2;  // After a start that failed.

}  // namespace

class World::PendingAlarm final : public wire::Alarm {
 public:
  // `loop`: on which the function is called, by another thread; nullptr: it is called at once.
  PendingAlarm(Process& process, wire::EventLoop* loop, std::function<void()> function)
      : process_(process), loop_(loop), function_(std::move(function)) {}
  ~PendingAlarm() override { Cancel(); }

  void Set(int64_t due_ns) override {
    Cancel();
    place_ = process_.world().alarms_.emplace(due_ns, this);
  }
  void Cancel() override {
    ++*times_set_;
    if (place_) process_.world().alarms_.erase(*std::exchange(place_, std::nullopt));
  }
  void Call() {
    Cancel();
    // It may destroy this alarm.
    const std::function<void()> function = function_;
    if (loop_ == nullptr) return function();
    // Set anew or destroyed before the loop gets to it, it is not called.
    loop_->Post([function, expected = *times_set_, weak = std::weak_ptr(times_set_)] {
      const std::shared_ptr<uint64_t> times_set = weak.lock();
      if (times_set != nullptr && *times_set == expected) function();
    });
  }
  Process& process() { return process_; }

 private:
  Process& process_;
  wire::EventLoop* const loop_;
  const std::function<void()> function_;
  const std::shared_ptr<uint64_t> times_set_ = std::make_shared<uint64_t>(0);
  std::optional<Alarms::iterator> place_;  // nullopt: not set.
};

// The time of a loop that a process made, which a thread of the process runs.
class World::LoopTime final : public wire::TimeSource {
 public:
  LoopTime(Process& process, wire::EventLoop& loop) : process_(process), loop_(loop) {}
  // The loop is destroyed next, with the callbacks.
  ~LoopTime() override { process_.world().connections().CloseAllOn(loop_); }
  const Clock& clock() const override { return process_.clock(); }
  std::unique_ptr<wire::Alarm> MakeAlarm(std::function<void()> function) override {
    return std::make_unique<PendingAlarm>(process_, &loop_, std::move(function));
  }

 private:
  Process& process_;
  wire::EventLoop& loop_;
};

Process::Process(World& world, std::string name, Host* machine, Start start)
    : world_(world),
      name_(std::move(name)),
      machine_(machine),
      start_(std::move(start)),
      network_(*this) {}

bool Death::Counts(std::string_view what, uint64_t bytes) const {
  switch (in) {
    case In::kChange:
      return true;
    case In::kNameChange:
      return what != "write" && what != "sync";
    case In::kLargeWrite:
      return what == "write" && bytes >= kLargeBytes;
    case In::kSync:
      return what == "sync";
  }
  return true;
}

bool Process::is_stalled() const { return stalled_until_ns_ > world_.MonotonicNs(); }

bool Process::is_cut_off() const { return cut_off_until_ns_ > world_.MonotonicNs(); }

const Clock& Process::clock() const {
  return machine_ != nullptr ? machine_->clock : world_.clock_of(false);
}

std::unique_ptr<wire::Alarm> Process::MakeAlarm(std::function<void()> function) {
  return std::make_unique<World::PendingAlarm>(*this, nullptr, std::move(function));
}

std::unique_ptr<wire::TimeSource> World::MakeTime(wire::EventLoop& loop) {
  return current_ == nullptr ? nullptr : std::make_unique<LoopTime>(*current_, loop);
}

wire::Network& World::NetworkOf(wire::EventLoop&) { return current_->network_; }

World::World(uint64_t seed, const std::string& root, int64_t now_ns)
    : random_(seed), wall_offset_ns_(now_ns - monotonic_ns_), root_(root), threads_(*this) {
  machines_.push_back(std::make_unique<Host>(*this, "", root, *this));
  entered_ = machines_.front().get();
  the_world = this;
  wire::EventLoop::SetSurroundings(this);
}

World::~World() {
  wire::EventLoop::SetSurroundings(nullptr);
  the_world = nullptr;
  if (base_ < 0) return;
  TS_CHECK(::fchdir(base_) == 0);
  ::close(base_);
}

Host& World::AddMachine(std::string folder, const std::string& root) {
  if (base_ < 0) base_ = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  TS_CHECK(base_ >= 0);
  machines_.push_back(
      std::make_unique<Host>(*this, std::move(folder), root.empty() ? root_ : root, *this));
  return *machines_.back();
}

void World::Enter(const Host& machine) {
  const bool is_here = entered_->folder == machine.folder;
  entered_ = &machine;
  if (is_here) return;
  TS_CHECK(::fchdir(base_) == 0);
  if (!machine.folder.empty()) TS_CHECK(::chdir(machine.folder.c_str()) == 0);
}

Disk* World::DiskOf(std::string_view path) {
  for (const std::unique_ptr<Host>& machine : machines_) {
    if (machine->disk.Has(path) && machine->folder == entered_->folder) return &machine->disk;
  }
  return nullptr;
}

Disk* World::DiskOf(int fd) {
  for (const std::unique_ptr<Host>& machine : machines_) {
    if (machine->disk.Has(fd)) return &machine->disk;
  }
  return nullptr;
}

bool World::HasReadable(int epoll_fd) const {
  const auto watched = watched_.find(epoll_fd);
  if (watched == watched_.end()) return false;
  const auto readable = readable_.find(watched->second);
  return readable != readable_.end() && readable->second;
}

int64_t World::power_cuts() const {
  int64_t cuts = 0;
  for (const std::unique_ptr<Host>& machine : machines_) cuts += machine->mounts - 1;
  return cuts;
}

void World::End() {
  for (const std::unique_ptr<Process>& process : processes_) {
    process->dead_ = true;
    if (process->loop_ != nullptr) Bury(*process);
  }
}

void World::set_current(Process* process) {
  current_ = process;
  if (process != nullptr && process->machine_ != nullptr) Enter(*process->machine_);
  if (LogEnabled(LogLevel::kError)) InitLogging(process == nullptr ? "world" : process->name());
}

void World::AdvanceTo(int64_t monotonic_ns) {
  monotonic_ns_ = std::max(monotonic_ns_, monotonic_ns);
}

void World::Trace(std::string_view what, uint64_t value) {
  const auto mix = [this](uint64_t word) { trace_ = (trace_ ^ word) * 0x100000001b3; };
  for (const char c : what) mix(static_cast<unsigned char>(c));
  mix(value);
  mix(static_cast<uint64_t>(monotonic_ns_));
  LogDebug("{} {}", what, value);
}

Process& World::Add(std::string name, Host* machine, Process::Start start) {
  processes_.push_back(
      std::make_unique<Process>(*this, std::move(name), machine, std::move(start)));
  return *processes_.back();
}

// ---- trouble

void World::Kill(Process& process) { process.dead_ = process.loop_ != nullptr; }

void World::StopInOrder(Process& process) {
  if (process.program_ == nullptr || process.dead_) return;
  set_current(&process);
  process.program_->Stop();
  set_current(nullptr);
  process.exits_ = true;
}

void World::CutPower(Host& machine) {
  machine.power_is_cut = true;
  for (const std::unique_ptr<Process>& process : processes_) {
    if (process->machine_ == &machine) process->dead_ = process->loop_ != nullptr;
  }
}

void World::LoseDisk(Host& machine) {
  CutPower(machine);
  machine.has_lost_disk = true;
}

void World::CallOffDeaths() {
  for (const std::unique_ptr<Process>& process : processes_) {
    process->death_ = process->next_death_ = {};
  }
}

void World::CallOffCutOffs() {
  for (const std::unique_ptr<Process>& process : processes_) process->cut_off_until_ns_ = 0;
}

void World::CallOffDownTimes() {
  for (const std::unique_ptr<Process>& process : processes_) {
    if (std::exchange(process->down_until_ns_, 0) > monotonic_ns_) {
      process->start_ns_ = monotonic_ns_;
    }
  }
}

void World::CallOffTrouble() {
  CallOffDeaths();
  CallOffDownTimes();
  CallOffCutOffs();
  connections_.CallOffCuts();
  for (const std::unique_ptr<Process>& process : processes_) process->stalled_until_ns_ = 0;
  chances_ = {};
  other_clock_.set_ahead_ns(0);
  for (const std::unique_ptr<Host>& machine : machines_) {
    machine->disk.CallOffErrors();
    machine->clock.set_ahead_ns(0);
  }
}

void World::Stall(Process& process, int64_t ns) { process.stalled_until_ns_ = monotonic_ns_ + ns; }

void World::CutOff(Process& process, int64_t ns) {
  connections_.ResetAllOf(process);
  process.cut_off_until_ns_ = monotonic_ns_ + ns;
}

void World::KeepDown(Process& process, int64_t ns) {
  process.down_until_ns_ = monotonic_ns_ + ns;
  process.start_ns_ = std::max(process.start_ns_, process.down_until_ns_);
  Kill(process);
}

bool World::MayChange(std::string_view what, uint64_t bytes, uint64_t* part) {
  Process* const process = current_;
  if (process == nullptr) return true;
  if (process->dead_) return false;
  Trace(what, bytes);
  changed_ns_ = monotonic_ns_;
  Death& death = process->death_;
  const bool counts = death.Counts(what, bytes);
  const bool lives = death.steps != 0 || !counts;
  if (death.steps >= 0 && counts) --death.steps;
  if (lives) {
    threads_.MaybeYield();
    return !process->dead_;
  }
  LogInfo("simulated {} process={} in={} bytes={}", death.is_power_cut ? "power cut" : "death",
          process->name_, what, bytes);
  if (death.is_power_cut) {
    CutPower(*process->machine_);
  } else {
    Kill(*process);
  }
  if (part != nullptr && bytes > 0) *part = random_.OneIn(2) ? random_.Below(bytes + 1) : 0;
  return false;
}

// ---- processes

void World::StartProcess(Process& process) {
  process.loop_ = std::make_unique<wire::EventLoop>(process, process.network_);
  process.dead_ = process.exits_ = false;
  if (process.next_death_.steps >= 0) process.death_ = std::exchange(process.next_death_, {});
  ++process.starts_;
  Trace(process.name_, process.starts_);
  set_current(&process);
  absl::StatusOr<std::unique_ptr<Program>> program = process.start_(process);
  set_current(nullptr);
  process.start_error_ = program.status();
  if (program.ok()) {
    process.program_ = *std::move(program);
    if (on_start_) on_start_(process);
    return;
  }
  if (!process.dead_) LogWarn("{} does not start: {}", process.name_, Message(program.status()));
  const bool killed = process.dead_;
  Bury(process);
  if (!killed) process.start_ns_ = monotonic_ns_ + kStartAgainNs;
}

void World::Bury(Process& process) {
  Trace(process.name_, 0);
  if (random_.OneIn(2)) connections_.ResetAllOf(process);
  set_current(&process);
  const int64_t now_ns = monotonic_ns_;
  if (process.dead_) buried_ = &process;
  process.program_.reset();
  connections_.CloseAllOf(process);
  process.loop_.reset();
  if (std::exchange(buried_, nullptr) != nullptr) monotonic_ns_ = now_ns;
  set_current(nullptr);
  process.dead_ = process.exits_ = false;
  process.death_ = {};
  process.start_ns_ = monotonic_ns_ + random_.Between(0, random_.OneIn(3) ? 0 : restart_ns_max_);
  process.start_ns_ = std::max(process.start_ns_, process.down_until_ns_);
}

void World::BuryTheDead() {
  for (const std::unique_ptr<Process>& process : processes_) {
    // Its objects end in order, so what they still do has an effect; unless it is killed meanwhile.
    if (process->loop_ != nullptr && (process->dead_ || process->exits_)) Bury(*process);
  }
  for (const std::unique_ptr<Host>& machine : machines_) {
    if (std::exchange(machine->power_is_cut, false)) BuryMachine(*machine);
  }
}

void World::BuryMachine(Host& machine) {
  LogInfo("simulated power cut machine={} boot={} mount={}", machine.folder, machine.boots,
          machine.mounts);
  // One of them may have been told to stop in order when the power was cut.
  for (const std::unique_ptr<Process>& process : processes_) {
    if (process->machine_ == &machine && process->loop_ != nullptr) Bury(*process);
  }
  Enter(machine);
  if (machine.has_lost_disk) {
    machine.disk.Lose();
  } else {
    machine.disk.CutPower();
  }
  // In half of the cases the machine stays up, and only its disk was lost for a moment.
  if (random_.OneIn(2)) ++machine.boots;
  ++machine.mounts;
  const int64_t up_ns = monotonic_ns_ + random_.Between(0, restart_ns_max_);
  for (const std::unique_ptr<Process>& process : processes_) {
    if (process->machine_ == &machine) process->start_ns_ = std::max(process->start_ns_, up_ns);
  }
  if (on_power_cut_) on_power_cut_(machine);
  machine.has_lost_disk = false;
}

// ---- the scheduler

bool World::RunOneOf(size_t number) {
  if (number == processes_.size()) return threads_.RunOne();
  Process& process = *processes_[number];
  if (process.loop_ == nullptr) {
    if (process.start_ns_ > monotonic_ns_) return false;
    StartProcess(process);
    return true;
  }
  if (process.is_stalled()) return false;
  set_current(&process);
  const bool ran = process.loop_->RunReady();
  set_current(nullptr);
  if (ran) Trace("run", number);
  return ran;
}

bool World::FireAlarm() {
  const auto first = alarms_.begin();
  if (first == alarms_.end() || first->first > monotonic_ns_) return false;
  PendingAlarm* const alarm = first->second;
  Process& process = alarm->process();
  if (process.is_stalled()) {
    alarm->Set(process.stalled_until_ns_);
    return true;
  }
  Trace("alarm", static_cast<uint64_t>(first->first));
  set_current(&process);
  alarm->Call();
  set_current(nullptr);
  return true;
}

int64_t World::NextNs() const {
  int64_t next_ns = threads_.NextDeadlineNs();
  if (!alarms_.empty()) next_ns = std::min(next_ns, alarms_.begin()->first);
  if (!events_.empty()) next_ns = std::min(next_ns, events_.begin()->first);
  for (const std::unique_ptr<Process>& process : processes_) {
    const int64_t ns = process->loop_ == nullptr ? process->start_ns_ : process->stalled_until_ns_;
    if (ns > monotonic_ns_) next_ns = std::min(next_ns, ns);
  }
  return next_ns;
}

// Performs one event. False if nothing happens before `until_ns`.
bool World::Step(int64_t until_ns) {
  if (!events_.empty() && events_.begin()->first <= monotonic_ns_) {
    const std::function<void()> event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
    return true;
  }
  const bool alarm_first = random_.OneIn(2);
  if (alarm_first && FireAlarm()) return true;
  const size_t entities = processes_.size() + 1;  // The processes' loops, and the threads.
  const size_t first = random_.Below(entities);
  for (size_t i = 0; i < entities; ++i) {
    if (!RunOneOf((first + i) % entities)) continue;
    monotonic_ns_ += static_cast<int64_t>(random_.Below(kEventNsMax));
    return true;
  }
  if (!alarm_first && FireAlarm()) return true;
  const int64_t next_ns = NextNs();
  if (next_ns > until_ns) {
    AdvanceTo(until_ns);
    return false;
  }
  AdvanceTo(next_ns);
  return true;
}

bool World::RunUntil(const std::function<bool()>& done, int64_t at_most_ns) {
  const int64_t until_ns = monotonic_ns_ + at_most_ns;
  while (!done()) {
    if (monotonic_ns_ >= until_ns || !Step(until_ns)) return done();
    BuryTheDead();
  }
  return true;
}

void World::At(int64_t monotonic_ns, std::function<void()> function) {
  events_.emplace(monotonic_ns, std::move(function));
}

}  // namespace tickstack::simulate
