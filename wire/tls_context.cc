#include "wire/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::wire {
namespace {

using Context = std::shared_ptr<SSL_CTX>;

// OpenSSL's reason for the last error of this thread; forgets all of them.
std::string Reason() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown error" : reason;
}

// What a PEM file has, and what to do if that is not what is expected.
struct PemContent {
  std::string found;
  bool has_certificate = false;
  bool has_key = false;
  bool is_encrypted = false;  // The key needs a password.
};

PemContent Unreadable(int error_number) {
  PemContent content;
  content.found = fmt::format("it cannot be read by this user: {}",
                              std::generic_category().message(error_number));
  return content;
}

PemContent ContentOf(const std::string& path) {
  constexpr size_t kBytesMax = size_t{1} << 20;
  constexpr std::string_view kBegin = "-----BEGIN ";
  std::ifstream file(path, std::ios::binary);
  if (!file) return Unreadable(errno);
  std::string text(kBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return Unreadable(errno);
  text.resize(static_cast<size_t>(file.gcount()));
  PemContent content;
  content.found = "it is empty";
  if (text.empty()) return content;
  for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const std::string_view label = std::string_view(text).substr(at + kBegin.size(), 40);
    if (label.starts_with("CERTIFICATE-----") || label.starts_with("TRUSTED CERTIFICATE-----")) {
      content.has_certificate = true;
    }
    if (label.find("PRIVATE KEY-----") != std::string_view::npos) content.has_key = true;
    if (label.starts_with("ENCRYPTED ")) content.is_encrypted = true;
  }
  if (content.has_key && text.find("Proc-Type: 4,ENCRYPTED") != std::string::npos) {
    content.is_encrypted = true;
  }
  content.found = content.has_key && content.has_certificate ? "it has a certificate and a key"
                  : content.has_certificate                  ? "it has a certificate"
                  : content.has_key                          ? "it has a private key"
                  : text[0] == '\x30' ? "it is DER: convert it with `openssl x509 -inform DER` or "
                                        "`openssl pkey -inform DER`"
                                      : "it is no PEM";
  return content;
}

absl::Status FileError(const std::string& path, std::string_view expected) {
  return InvalidArgument("{}: expected {}: {} ({})", path, expected, ContentOf(path).found,
                         Reason());
}

absl::Status KeyError(const std::string& path) {
  const PemContent content = ContentOf(path);
  if (content.is_encrypted) {
    ERR_clear_error();
    return InvalidArgument(
        "{0}: expected the private key of the certificate, in PEM, without a password: this one "
        "has "
        "a password, remove it with `openssl pkey -in {0} -out NEW`",
        path);
  }
  return FileError(path, "the private key of the certificate, in PEM");
}

// OpenSSL would ask for a password on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

absl::StatusOr<Context> NewContext(const SSL_METHOD* method) {
  ERR_clear_error();
  Context context(SSL_CTX_new(method), SSL_CTX_free);
  if (context == nullptr) return Internal("TLS: {}", Reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_default_passwd_cb(context.get(), NoPassword);
  return context;
}

absl::Status UseCertificate(SSL_CTX* context, const std::string& certificate,
                            const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return FileError(certificate, "a certificate in PEM");
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long error = ERR_peek_last_error();
    if (ERR_GET_REASON(error) != X509_R_KEY_VALUES_MISMATCH) return KeyError(key);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return InvalidArgument(
        "{0}: expected the private key of {1}, found another key: `openssl pkey -in {0} -pubout` "
        "and "
        "`openssl x509 -in {1} -noout -pubkey` print the same for a pair",
        key, certificate);
  }
  return absl::OkStatus();
}

absl::Status Trust(SSL_CTX* context, const std::string& ca) {
  if (SSL_CTX_load_verify_file(context, ca.c_str()) == 1) return absl::OkStatus();
  return FileError(ca, "certificates in PEM");
}

int64_t ChangedNs(const std::string& path) {
  struct stat found{};
  if (path.empty() || ::stat(path.c_str(), &found) != 0) return 0;
  return found.st_mtim.tv_sec * kNsPerSecond + found.st_mtim.tv_nsec;
}

struct ClientContext {
  TlsClientOptions options;
  Context context;
};

absl::StatusOr<ClientContext> MakeClientContext(const TlsClientOptions& options) {
  TS_ASSIGN_OR_RETURN(const Context context, NewContext(TLS_client_method()));
  if (!options.ca.empty()) {
    TS_RETURN_IF_ERROR(Trust(context.get(), options.ca));
  } else if (SSL_CTX_set_default_verify_paths(context.get()) != 1) {
    return Internal("TLS: the certificates that the system trusts: {}", Reason());
  }
  if (!options.certificate.empty()) {
    TS_RETURN_IF_ERROR(UseCertificate(context.get(), options.certificate, options.key));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return ClientContext{options, context};
}

// Returns a session of a client that expects this name in the server's certificate.
absl::StatusOr<SslSession> SessionOf(SSL_CTX* context, const std::string& name) {
  SslSession session(SSL_new(context));
  if (session == nullptr) return Internal("TLS: {}", Reason());
  X509_VERIFY_PARAM* const parameters = SSL_get0_param(session.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, name.c_str()) != 1) {  // It is no IP address.
    ERR_clear_error();
    if (SSL_set1_host(session.get(), name.c_str()) != 1 ||
        SSL_set_tlsext_host_name(session.get(), name.c_str()) != 1) {
      return InvalidArgument("{}: no name of a server: {}", name, Reason());
    }
  }
  SSL_set_connect_state(session.get());
  return session;
}

// The options of the process. Guarded by its mutex.
struct Clients {
  std::mutex mutex;
  std::shared_ptr<const ClientContext> context;
};
Clients& TheClients() {
  static Clients clients;
  return clients;
}

absl::StatusOr<std::shared_ptr<const ClientContext>> ClientContextOfProcess() {
  Clients& clients = TheClients();
  const std::lock_guard lock(clients.mutex);
  if (clients.context == nullptr) {
    TS_ASSIGN_OR_RETURN(ClientContext made, MakeClientContext({}));
    clients.context = std::make_shared<const ClientContext>(std::move(made));
  }
  return clients.context;
}

}  // namespace

void SslDeleter::operator()(ssl_st* ssl) const { SSL_free(ssl); }

// ---- servers

TlsServerContext::TlsServerContext(TlsServerOptions options, Context context, int64_t files_ns)
    : options_(std::move(options)), context_(std::move(context)), files_ns_(files_ns) {}

absl::StatusOr<std::shared_ptr<ssl_ctx_st>> TlsServerContext::Make(
    const TlsServerOptions& options) {
  TS_ASSIGN_OR_RETURN(Context context, NewContext(TLS_server_method()));
  TS_RETURN_IF_ERROR(UseCertificate(context.get(), options.certificate, options.key));
  if (!options.client_ca.empty()) {
    TS_RETURN_IF_ERROR(Trust(context.get(), options.client_ca));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  // No sessions are resumed: each connection verifies, and nothing needs to be kept.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

absl::StatusOr<std::shared_ptr<TlsServerContext>> TlsServerContext::Load(
    const TlsServerOptions& options) {
  TS_ASSIGN_OR_RETURN(Context context, Make(options));
  std::shared_ptr<TlsServerContext> loaded(new TlsServerContext(options, std::move(context), 0));
  loaded->files_ns_ = loaded->NewestFileNs();
  return loaded;
}

int64_t TlsServerContext::NewestFileNs() const {
  return std::max(
      {ChangedNs(options_.certificate), ChangedNs(options_.key), ChangedNs(options_.client_ca)});
}

// With mutex_ held.
void TlsServerContext::LoadIfChanged() {
  const int64_t now_ns = SystemClock::Instance().MonotonicNs();
  if (now_ns - looked_ns_ < kNsPerSecond) return;
  looked_ns_ = now_ns;
  const int64_t files_ns = NewestFileNs();
  if (files_ns == files_ns_) return;
  files_ns_ = files_ns;  // Also if they are wrong: that is logged once.
  absl::StatusOr<Context> context = Make(options_);
  if (!context.ok()) {
    LogError("tls certificate not reloaded error=\"{}\"", Message(context.status()));
    return;
  }
  context_ = *std::move(context);
  LogInfo("tls certificate reloaded file={}", options_.certificate);
}

SslSession TlsServerContext::NewSession() {
  const std::lock_guard lock(mutex_);
  LoadIfChanged();
  SslSession session(SSL_new(context_.get()));
  if (session != nullptr) SSL_set_accept_state(session.get());
  return session;
}

// ---- clients

absl::Status CheckTlsClientOptions(const TlsClientOptions& options) {
  return MakeClientContext(options).status();
}

absl::Status SetTlsClientOptions(const TlsClientOptions& options) {
  TS_ASSIGN_OR_RETURN(ClientContext context, MakeClientContext(options));
  Clients& clients = TheClients();
  const std::lock_guard lock(clients.mutex);
  clients.context = std::make_shared<const ClientContext>(std::move(context));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const TlsClientContext>> TlsClientContext::Load(
    const TlsClientOptions& options) {
  TS_ASSIGN_OR_RETURN(ClientContext made, MakeClientContext(options));
  return std::shared_ptr<const TlsClientContext>(
      new TlsClientContext(std::move(made.options), std::move(made.context)));
}

absl::StatusOr<SslSession> TlsClientContext::NewSession(const std::string& host) const {
  return SessionOf(context_.get(), options_.server_name.empty() ? host : options_.server_name);
}

absl::StatusOr<SslSession> NewTlsClientSession(const std::string& host) {
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ClientContext> context, ClientContextOfProcess());
  const std::string& given = context->options.server_name;
  return SessionOf(context->context.get(), given.empty() ? host : given);
}

}  // namespace tickstack::wire
