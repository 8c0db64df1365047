#include "bench/protection.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/status.h"
#include "security/login_check.h"
#include "security/password.h"
#include "security/private_file.h"
#include "wire/address.h"
#include "wire/link_credentials.h"

namespace tickstack::bench {
namespace {

constexpr long kCertificateSeconds = 24 * 3600;

void Need(bool is_done, const char* what) {
  if (is_done) return;
  std::fprintf(stderr, "protection: %s failed\n", what);
  std::exit(1);
}

void Need(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "protection: %s\n", std::string(Message(status)).c_str());
  std::exit(1);
}

PeerLogin LoginOf(Protection protection, const char* user, const std::string& password) {
  if (protection == Protection::kNone) return {};
  return {fmt::format("{}:{}", user, password), protection == Protection::kUsersAndTls};
}

// Signs a certificate for 127.0.0.1 with its own key.
void Sign(X509* certificate, EVP_PKEY* key) {
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), kCertificateSeconds);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("stack_bench"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> names(
      X509V3_EXT_conf_nid(nullptr, &context, NID_subject_alt_name, "IP:127.0.0.1"),
      X509_EXTENSION_free);
  Need(names != nullptr && X509_add_ext(certificate, names.get(), -1) == 1 &&
           X509_sign(certificate, key, EVP_sha256()) > 0,
       "signing the certificate");
}

}  // namespace

ProtectionFiles::ProtectionFiles(std::string folder)
    : folder_(std::move(folder)),
      password_(security::RandomSecret()),
      stack_password_(security::RandomSecret()) {
  std::filesystem::create_directories(folder_);
  WriteUsers();
  WriteCertificate();
  Need(wire::SetTlsClientOptions({.ca = Path("server.pem")}));
}

ProtectionFiles::~ProtectionFiles() { std::filesystem::remove_all(folder_); }

void ProtectionFiles::WriteUsers() const {
  const absl::StatusOr<std::string> hash = security::HashPassword(password_);
  Need(hash.status());
  Need(security::WritePrivateFile(
      Path("users"), fmt::format("[users.feed]\npassword = \"{0}\"\npublish = [\"*\"]\n"
                                 "[users.reader]\npassword = \"{0}\"\nquery = [\"*\"]\n"
                                 "administer = true\n",
                                 *hash)));
}

void ProtectionFiles::WriteCertificate() const {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  Need(key != nullptr && certificate != nullptr, "making a key");
  Sign(certificate.get(), key.get());
  using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;
  const File pem(std::fopen(Path("server.pem").c_str(), "w"), std::fclose);
  const File private_key(std::fopen(Path("server.key").c_str(), "w"), std::fclose);
  Need(
      pem != nullptr && private_key != nullptr && PEM_write_X509(pem.get(), certificate.get()) &&
          PEM_write_PrivateKey(private_key.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
      "writing the certificate");
}

void ProtectionFiles::Protect(Protection protection, wire::ListenerOptions& listener) const {
  if (protection == Protection::kNone) return;
  wire::SetLinkCredentials([password = stack_password_] {
    return wire::Credentials{std::string(security::kStackUser), password, 0};
  });
  security::LoginCheckOptions options;
  options.users = Path("users");
  options.stack_secret.emplace(stack_password_);
  absl::StatusOr<std::shared_ptr<security::LoginCheck>> logins =
      security::LoginCheck::Open(std::move(options));
  Need(logins.status());
  listener.authenticator = *std::move(logins);
  if (protection != Protection::kUsersAndTls) return;
  listener.tls = wire::TlsUse::kRequired;
  listener.tls_files = {Path("server.pem"), Path("server.key"), ""};
}

std::string ProtectionFiles::AddressOf(Protection protection, uint16_t port) {
  return wire::Address{"127.0.0.1", port, "", protection == Protection::kUsersAndTls}.ToString();
}

PeerLogin ProtectionFiles::Feed(Protection protection) const {
  return LoginOf(protection, "feed", password_);
}

PeerLogin ProtectionFiles::Reader(Protection protection) const {
  return LoginOf(protection, "reader", password_);
}

}  // namespace tickstack::bench
