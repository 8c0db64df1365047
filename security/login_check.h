#pragma once

// Verifies all logins: by kdb+ IPC, HTTP basic authentication, bearer token or WebSocket.
//
//   server's thread   Check: back-off, cache of verified passwords --> verdict at once
//                              | password not in the cache
//   worker            argon2id, one at a time, at nice value 10     --> verdict, audit log
//                     (login_queue.h has the order)
//                     once a second: has the users file changed?
//
// Argon2id takes about 0.1 s and 64 MiB, so it never runs on a server's thread. Only one runs at a
// time, which bounds the memory. Attempts with the same user and password share one verification. A
// verified password is in the cache for 10 minutes. The cache contains keyed hashes with a key that
// only this process has, so nobody else can use them.
//
// The password of an unknown user is verified against the hash of another user, and the result is
// ignored. So the time of an answer does not show which users exist, if all hashes cost the same.
// The hashes that `tickstack user` writes do.
//
// The user `stack` has all rights. Its password is a random secret of 256 bits, which needs no slow
// hash and no back-off.
//
// Threads: any.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/string_map.h"
#include "base/time.h"
#include "security/login_backoff.h"
#include "security/login_queue.h"
#include "security/private_file.h"
#include "security/secret.h"
#include "security/user_rights.h"
#include "security/users_file.h"
#include "wire/authenticator.h"

namespace tickstack::security {

struct LoginCheckOptions {
  std::string users;                      // Path of the users file.
  std::optional<Secret> stack_secret;     // nullopt: the user `stack` cannot log in.
  int64_t known_ns = 600 * kNsPerSecond;  // How long a verified password is in the cache.
  size_t known_max = 1024;                // Passwords in the cache; the oldest ones are dropped.
  int64_t look_ns = kNsPerSecond;         // How often the worker looks at the users file.
  LoginQueueBounds waiting = {};          // Verifications that may wait.
};

class LoginCheck final : public wire::Authenticator {
 public:
  // Reads the users file and starts the worker. Errors: those of LoadUsers.
  static absl::StatusOr<std::shared_ptr<LoginCheck>> Open(LoginCheckOptions options);
  // Waits for the verification that is running. Logins that wait get no verdict.
  ~LoginCheck() override;
  LoginCheck(const LoginCheck&) = delete;
  LoginCheck& operator=(const LoginCheck&) = delete;

  void Check(wire::Login login, Verdict verdict) override;

  // Reads the users file if it has changed. Connections of users whose entry has changed lose their
  // rights (ClientRights::is_current). If the file cannot be read, logs an error and keeps all
  // rights. The first call after a change reads nothing and returns false: an editor may still be
  // writing, and a file that is half written lacks users. The worker calls this every `look_ns`,
  // and again soon after false.
  bool ReloadIfChanged();

 private:
  using Rights = std::shared_ptr<const UserRights>;
  struct Entry {
    User user;
    std::shared_ptr<UserRights> rights;
  };
  struct Attempt {
    std::string peer;
    Verdict verdict;
  };
  // One verification, and the login attempts that wait for it.
  struct Job {
    std::string key;
    std::string user;
    std::string password;
    std::string hash;
    std::string address;  // The address of the first attempt.
    std::vector<Attempt> attempts;
  };

  LoginCheck(LoginCheckOptions options, Users users, FileStamp stamp);

  void CheckStack(const wire::Login& login, const Verdict& verdict);
  std::string KeyOf(const wire::Login& login, std::string_view hash) const;
  // The caller of each following function holds mutex_.
  const std::string& HashOf(std::string_view user) const;
  bool IsKnown(const std::string& key, int64_t now_ns) const;
  std::shared_ptr<Job> Enqueue(wire::Login& login, std::string key, const std::string& address,
                               Verdict verdict, int64_t now_ns);
  Rights Settle(const Job& job, bool right, int64_t now_ns);
  void Remember(const std::string& key, int64_t now_ns);
  void ChooseDecoy();

  void Work();
  void Verify(std::shared_ptr<Job> job);
  void Install(const Users& users);

  const LoginCheckOptions options_;
  const Secret cache_key_ = Secret::Random(32);
  std::shared_ptr<UserRights> stack_rights_;

  std::mutex mutex_;  // Guards all that follows except worker_.
  std::condition_variable wake_;
  std::map<std::string, Entry, std::less<>> users_;
  std::string decoy_;  // The hash against which passwords of unknown users are verified.
  FileStamp stamp_;
  std::optional<FileStamp> seen_;  // The stamp at the last call that found another one than stamp_.
  std::string reported_;           // The last error of a reload.
  LoginBackoff backoff_;
  StringMap<int64_t> known_ns_;  // When each known password was verified, by its keyed hash.
  LoginQueue<std::shared_ptr<Job>> waiting_;
  std::shared_ptr<Job> running_;
  bool stopped_ = false;

  std::thread worker_;
};

}  // namespace tickstack::security
