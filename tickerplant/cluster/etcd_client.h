#pragma once

// Requests to the members of an etcd cluster, over its JSON gateway: with TLS, a client
// certificate, and a login with a user's name and password.
//
//   which member   the one that answered last; after an error, the next request goes to the next
//   login          only when etcd asks for one, within the request that it refused. So etcd's
//                  logins can be switched on while members run, and a token that expired, which
//                  etcd forgot, or which another member does not know, fails no request
//   wrong password tried again after kLoginPause, because every attempt costs etcd 0.1 s of a core
//   files          read for each connection and each login, so renewed ones need no restart
//
// Threads: one owner. Calls block.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tickerplant/cluster/replication_options.h"

namespace tickstack::tickerplant {

struct EtcdOptions {
  // URLs of etcd's members, such as `http://10.0.0.1:2379`.
  std::vector<std::string> endpoints;
  std::string key;
  std::chrono::milliseconds timeout{150};  // Limit for one request to one member.
  EtcdFiles files = {};
  // Limit for a login at one member. etcd compares the password with a slow hash.
  std::chrono::milliseconds login_timeout{2000};
};

// Reads the files. Errors: kInvalidArgument, with the file, if it cannot be used; for the
// credentials also those of security::LoadCredentials.
absl::Status CheckEtcdFiles(const EtcdFiles& files);

class EtcdClient {
 public:
  static constexpr std::chrono::seconds kLoginPause{5};

  // Does not connect. kInvalidArgument without endpoints, or for one that is no URL of HTTP or
  // HTTPS; errors of CheckEtcdFiles.
  static absl::StatusOr<std::unique_ptr<EtcdClient>> Open(EtcdOptions options);
  ~EtcdClient();
  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;

  const std::string& key() const { return options_.key; }

  // Returns the answer's body. Takes at most two timeouts and a login's. kUnavailable if the member
  // does not answer in time, is not trusted or has no quorum; kPermissionDenied if etcd refuses the
  // login or its user may not use the key.
  absl::StatusOr<std::string> Post(std::string_view path, const std::string& body);

 private:
  struct Answer {
    long code = 0;
    std::string body;
  };

  EtcdClient(EtcdOptions options, void* handle);
  const std::string& endpoint() const { return options_.endpoints[endpoint_]; }
  absl::StatusOr<std::string> PostToMember(std::string_view path, const std::string& body);
  absl::StatusOr<Answer> Send(std::string_view path, const std::string& body,
                              std::chrono::milliseconds timeout);
  absl::Status LogIn();
  absl::Status TryToLogIn();
  bool AsksForLogin(const Answer& answer) const;
  absl::Status ErrorOf(const Answer& answer) const;
  absl::Status NotSent(int result, std::string_view reason) const;

  const EtcdOptions options_;
  void* const handle_;         // libcurl's. It keeps connections open.
  size_t endpoint_ = 0;        // Index of the member to ask.
  std::string user_;           // User of the last login.
  std::string token_;          // Empty: not logged in.
  absl::Status refused_;       // Why etcd refused the last login.
  int64_t next_login_ns_ = 0;  // After a refusal: when to try again, monotonic.
};

}  // namespace tickstack::tickerplant
