#include "security/login_check.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "security/audit_log.h"
#include "security/password.h"
#include "wire/places.h"

namespace tickstack::security {
namespace {

using namespace std::chrono_literals;

constexpr auto kSettled = 200ms;  // Until then, a file that changed may be incomplete.
constexpr int kNice = 10;
// Of no password: for a file without users.
constexpr std::string_view kNobodysHash =
    "$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

}  // namespace

absl::StatusOr<std::shared_ptr<LoginCheck>> LoginCheck::Open(LoginCheckOptions options) {
  // Before the file is read: a change meanwhile is then seen as one.
  TS_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(options.users));
  TS_ASSIGN_OR_RETURN(Users users, LoadUsers(options.users));
  std::shared_ptr<LoginCheck> check(new LoginCheck(std::move(options), std::move(users), stamp));
  check->worker_ = std::thread([raw = check.get()] {
    SetThreadNice(kNice);
    raw->Work();
  });
  return check;
}

LoginCheck::LoginCheck(LoginCheckOptions options, Users users, FileStamp stamp)
    : options_(std::move(options)),
      stack_rights_(std::make_shared<UserRights>(std::string(kStackUser), AllGrants())),
      stamp_(stamp),
      waiting_(options_.waiting) {
  Install(users);
}

LoginCheck::~LoginCheck() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (worker_.joinable()) worker_.join();
  while (!waiting_.empty()) Wipe(waiting_.Pop()->password);
}

// ---- the server's thread

void LoginCheck::Check(wire::Login login, Verdict verdict) {
  if (login.user == kStackUser) {
    CheckStack(login, verdict);
    return Wipe(login.password);
  }
  const int64_t now_ns = MonotonicNs();
  const std::string address = wire::AddressInPeer(login.peer);
  Rights rights;
  const char* refusal = nullptr;
  std::shared_ptr<Job> dropped;
  {
    const std::lock_guard lock(mutex_);
    std::string key = KeyOf(login, HashOf(login.user));
    const bool known = IsKnown(key, now_ns);
    if (backoff_.WaitNs(login.user, address, known, now_ns) > 0) {
      refusal = "too many failed logins: waits for the end of a pause";
    } else if (known) {
      rights = users_.find(login.user)->second.rights;
    } else {
      dropped = Enqueue(login, std::move(key), address, std::exchange(verdict, nullptr), now_ns);
    }
  }
  Wipe(login.password);
  if (dropped != nullptr) {
    Wipe(dropped->password);
    for (const Attempt& attempt : dropped->attempts) {
      AuditRefused(dropped->user, attempt.peer, "too many logins wait to be verified");
      attempt.verdict(nullptr);
    }
  }
  if (verdict == nullptr) return wake_.notify_one();
  if (refusal != nullptr) AuditRefused(login.user, login.peer, refusal);
  if (rights != nullptr) AuditLogin(login.user, login.peer);
  verdict(std::move(rights));
}

void LoginCheck::CheckStack(const wire::Login& login, const Verdict& verdict) {
  const bool right =
      options_.stack_secret.has_value() && options_.stack_secret->Equals(login.password);
  right ? AuditLogin(login.user, login.peer)
        : AuditRefused(login.user, login.peer, "wrong secret of the stack");
  verdict(right ? stack_rights_ : nullptr);
}

// A key has the hash, so a changed password has another one. NUL is in none of the three.
std::string LoginCheck::KeyOf(const wire::Login& login, std::string_view hash) const {
  std::array<unsigned char, crypto_generichash_BYTES> key{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, cache_key_.bytes().data(), cache_key_.bytes().size(), key.size());
  for (const std::string_view part :
       {std::string_view(login.user), hash, std::string_view(login.password)}) {
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                              part.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>("\0"), 1);
  }
  crypto_generichash_final(&state, key.data(), key.size());
  sodium_memzero(&state, sizeof state);
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

const std::string& LoginCheck::HashOf(std::string_view user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? decoy_ : found->second.user.password;
}

// Only passwords of users become known, so the user exists.
bool LoginCheck::IsKnown(const std::string& key, int64_t now_ns) const {
  const auto found = known_ns_.find(key);
  return found != known_ns_.end() && now_ns - found->second < options_.known_ns;
}

// Returns the job that is dropped because too many wait, which may be that of this login; nullptr
// if none is.
std::shared_ptr<LoginCheck::Job> LoginCheck::Enqueue(wire::Login& login, std::string key,
                                                     const std::string& address, Verdict verdict,
                                                     int64_t now_ns) {
  Attempt attempt{login.peer, std::move(verdict)};
  const auto join = [&](const std::shared_ptr<Job>& job) {
    if (job == nullptr || job->key != key) return false;
    job->attempts.push_back(std::move(attempt));
    return true;
  };
  if (join(running_) || waiting_.AnyOf(join)) return nullptr;
  auto job = std::make_shared<Job>();
  job->key = std::move(key);
  job->user = login.user;
  job->password = std::move(login.password);
  job->hash = HashOf(login.user);
  job->address = address;
  job->attempts.push_back(std::move(attempt));
  return waiting_
      .Push(address, login.user, backoff_.IsTrusted(login.user, address, now_ns), std::move(job))
      .value_or(nullptr);
}

// ---- the worker

void LoginCheck::Work() {
  const std::chrono::nanoseconds every(options_.look_ns);
  auto look = std::chrono::steady_clock::now() + every;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait_until(lock, look, [this] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    if (!waiting_.empty()) {
      running_ = waiting_.Pop();
      std::shared_ptr<Job> job = running_;
      lock.unlock();
      Verify(std::move(job));
      lock.lock();
    }
    if (std::chrono::steady_clock::now() < look) continue;
    lock.unlock();
    const bool is_changing = !ReloadIfChanged();
    lock.lock();
    look = std::chrono::steady_clock::now() +
           (is_changing ? std::min<std::chrono::nanoseconds>(kSettled, every) : every);
  }
}

void LoginCheck::Verify(std::shared_ptr<Job> job) {
  const bool right = VerifyPassword(job->hash, job->password);
  Wipe(job->password);
  Rights rights;
  std::vector<Attempt> attempts;
  {
    const std::lock_guard lock(mutex_);
    rights = Settle(*job, right, MonotonicNs());
    attempts = std::move(job->attempts);
    running_ = nullptr;
  }
  for (const Attempt& attempt : attempts) {
    rights != nullptr ? AuditLogin(job->user, attempt.peer)
                      : AuditRefused(job->user, attempt.peer, "wrong user or password");
    attempt.verdict(rights);
  }
}

// Counts the result of a verification. Returns the user's rights; nullptr: refused. The file may
// have changed while it ran, and then the hash is no longer the user's.
LoginCheck::Rights LoginCheck::Settle(const Job& job, bool right, int64_t now_ns) {
  const auto found = users_.find(job.user);
  if (right && found != users_.end() && found->second.user.password == job.hash) {
    backoff_.OnSuccess(job.user, job.address, now_ns);
    Remember(job.key, now_ns);
    return found->second.rights;
  }
  for (const Attempt& attempt : job.attempts) {
    backoff_.OnFailure(job.user, wire::AddressInPeer(attempt.peer), now_ns);
  }
  return nullptr;
}

void LoginCheck::Remember(const std::string& key, int64_t now_ns) {
  if (known_ns_.size() >= options_.known_max) {
    absl::erase_if(known_ns_,
                   [&](const auto& entry) { return now_ns - entry.second >= options_.known_ns; });
  }
  if (known_ns_.size() >= options_.known_max) {
    known_ns_.erase(
        std::ranges::min_element(known_ns_, {}, [](const auto& entry) { return entry.second; }));
  }
  known_ns_[key] = now_ns;
}

// ---- the users file

bool LoginCheck::ReloadIfChanged() {
  const absl::StatusOr<FileStamp> stamp = StampOf(options_.users);
  if (stamp.ok()) {
    const std::lock_guard lock(mutex_);
    if (*stamp == stamp_) return true;
    if (seen_ != *stamp) {
      seen_ = *stamp;
      return false;
    }
  }
  const absl::StatusOr<Users> users =
      stamp.ok() ? LoadUsers(options_.users) : absl::StatusOr<Users>(stamp.status());
  const std::lock_guard lock(mutex_);
  if (!users.ok()) {
    // A file that is bad remains to be looked at: it may become readable without a new time.
    const std::string why(Message(users.status()));
    if (why != reported_)
      LogError("users file not loaded, the previous one stays error=\"{}\"", why);
    reported_ = why;
    return true;
  }
  reported_.clear();
  stamp_ = *stamp;
  Install(*users);
  LogInfo("users file loaded path={} users={}", options_.users, users->size());
  return true;
}

// Keeps the rights of users whose entry is the same, so that their connections stay.
void LoginCheck::Install(const Users& users) {
  std::map<std::string, Entry, std::less<>> next;
  for (const auto& [name, user] : users) {
    const auto old = users_.find(name);
    if (old != users_.end() && old->second.user == user) {
      next.emplace(name, std::move(old->second));
      users_.erase(old);
    } else {
      next.emplace(name, Entry{user, std::make_shared<UserRights>(name, user.grants)});
    }
  }
  for (const auto& [name, entry] : users_) entry.rights->Revoke();
  users_ = std::move(next);
  ChooseDecoy();
}

// Takes the hash that costs most.
void LoginCheck::ChooseDecoy() {
  decoy_ = kNobodysHash;
  double most = 0;
  for (const auto& [name, entry] : users_) {
    const absl::StatusOr<HashCost> cost = CostOfHash(entry.user.password);
    if (!cost.ok()) continue;
    const double work = static_cast<double>(cost->memory_bytes) * static_cast<double>(cost->passes);
    if (work <= most) continue;
    most = work;
    decoy_ = entry.user.password;
  }
}

}  // namespace tickstack::security
