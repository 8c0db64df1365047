#pragma once

// Certificates, keys and sessions of TLS. OpenSSL implements them: TLS 1.2 and newer, with its
// default ciphers.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

// OpenSSL's types, declared here so that only sources include its headers.
struct ssl_st;
struct ssl_ctx_st;

namespace tickstack::wire {

struct SslDeleter {
  void operator()(ssl_st* ssl) const;
};
using SslSession = std::unique_ptr<ssl_st, SslDeleter>;

struct TlsServerOptions {
  // Path of a PEM file: the certificate, then those of its issuers up to the root.
  std::string certificate = {};
  // Path of a PEM file: the private key, without a password.
  std::string key = {};
  // Path of a PEM file: clients must have a certificate signed by one of its certificates. Empty:
  // clients need no certificate.
  std::string client_ca = {};
};

// Makes sessions for accepted clients. When a client connects, checks at most once per second
// whether the files have changed, so a renewed certificate needs no restart. If the new files
// cannot be used, logs an error and continues with the old certificate.
//
// Threads: any.
class TlsServerContext {
 public:
  // Reads the files. Errors: kInvalidArgument, with the file, if it cannot be read, has no
  // certificate or key, or the key is not that of the certificate.
  static absl::StatusOr<std::shared_ptr<TlsServerContext>> Load(const TlsServerOptions& options);

  SslSession NewSession();  // nullptr if the memory cannot be allocated.

 private:
  using Context = std::shared_ptr<ssl_ctx_st>;
  TlsServerContext(TlsServerOptions options, Context context, int64_t files_ns);
  static absl::StatusOr<Context> Make(const TlsServerOptions& options);
  int64_t NewestFileNs() const;
  void LoadIfChanged();

  const TlsServerOptions options_;
  std::mutex mutex_;
  Context context_;        // Guarded by mutex_, like files_ns_ and looked_ns_.
  int64_t files_ns_;       // When the newest of the files was changed.
  int64_t looked_ns_ = 0;  // When the files were last checked, monotonic.
};

struct TlsClientOptions {
  // Path of a PEM file: a server's certificate must be signed by one of its certificates. Empty:
  // the certificates that the system trusts.
  std::string ca = {};
  // The name that a server's certificate must have. Empty: the host of the address, which is a name
  // or an IP address.
  std::string server_name = {};
  // Path of a PEM file with this client's certificate, for servers that require one. Empty: none.
  std::string certificate = {};
  // Path of a PEM file with the private key of `certificate`.
  std::string key = {};

  bool is_set() const { return !ca.empty() || !server_name.empty() || !certificate.empty(); }
};

// Reads the files. Errors: those of TlsServerContext::Load.
absl::Status CheckTlsClientOptions(const TlsClientOptions& options);

// Sets how this process connects to addresses with TLS. Call it before threads start; without a
// call, the defaults apply. Errors: those of TlsServerContext::Load.
absl::Status SetTlsClientOptions(const TlsClientOptions& options);

// Returns a session for a connection to `host`. Its handshake fails unless the server's certificate
// is valid for that host. Threads: any.
absl::StatusOr<SslSession> NewTlsClientSession(const std::string& host);

// How some connections use TLS, whatever the options of the process: those to servers of others,
// such as exchanges, whose certificates the stack's own root has not signed. Threads: any.
class TlsClientContext {
 public:
  // Reads the files. Errors: those of TlsServerContext::Load.
  static absl::StatusOr<std::shared_ptr<const TlsClientContext>> Load(
      const TlsClientOptions& options);

  // Returns a session as NewTlsClientSession does.
  absl::StatusOr<SslSession> NewSession(const std::string& host) const;

 private:
  TlsClientContext(TlsClientOptions options, std::shared_ptr<ssl_ctx_st> context)
      : options_(std::move(options)), context_(std::move(context)) {}

  const TlsClientOptions options_;
  const std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace tickstack::wire
