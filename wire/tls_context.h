#pragma once

// Certificates and keys for TLS, by OpenSSL. TLS 1.2 and newer, with OpenSSL's default ciphers.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

// OpenSSL's types, so that its headers stay in the sources.
struct ssl_st;
struct ssl_ctx_st;

namespace tickstack::wire {

struct SslDeleter {
  void operator()(ssl_st* ssl) const;
};
using SslSession = std::unique_ptr<ssl_st, SslDeleter>;

struct TlsServerOptions {
  std::string certificate = {};  // PEM: the certificate, and those of its issuers up to the root.
  std::string key = {};          // PEM, without a password.
  // PEM: clients must have a certificate that one of these has signed. Empty: they need none.
  std::string client_ca = {};
};

// Makes sessions for accepted clients. Looks once a second, when a client comes, whether the files
// have changed, so a renewed certificate needs no restart. If the new ones cannot be used, that is
// logged, and the old ones stay.
//
// Threads: any.
class TlsServerContext {
 public:
  // kInvalidArgument, with the file, if it cannot be read, has no certificate or key, or the two do
  // not belong together.
  static absl::StatusOr<std::shared_ptr<TlsServerContext>> Load(const TlsServerOptions& options);

  SslSession NewSession();  // nullptr: no memory.

 private:
  using Context = std::shared_ptr<ssl_ctx_st>;
  TlsServerContext(TlsServerOptions options, Context context, int64_t files_ns);
  static absl::StatusOr<Context> Make(const TlsServerOptions& options);
  int64_t NewestFileNs() const;
  void LoadIfChanged();

  const TlsServerOptions options_;
  std::mutex mutex_;
  Context context_;   // Guarded by mutex_, as are the next two.
  int64_t files_ns_;  // When the newest of the files was changed.
  int64_t looked_ns_ = 0;
};

struct TlsClientOptions {
  // PEM: a server's certificate must be signed by one of these. Empty: by one that the system
  // trusts.
  std::string ca = {};
  // The name that a server's certificate must have. Empty: the host of the address, a name or an
  // IP address.
  std::string server_name = {};
  // PEM: for servers that require a certificate. Empty: none.
  std::string certificate = {};
  std::string key = {};

  bool is_set() const { return !ca.empty() || !server_name.empty() || !certificate.empty(); }
};

// How this process's clients connect to addresses that ask for TLS. Call it before threads start.
// Without it, the defaults apply. kInvalidArgument as above.
absl::Status SetTlsClientOptions(const TlsClientOptions& options);

// A session for a connection to `host`. It fails unless the server's certificate is valid for it.
// Threads: any.
absl::StatusOr<SslSession> NewTlsClientSession(const std::string& host);

}  // namespace tickstack::wire
