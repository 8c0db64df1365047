#pragma once

// Certificates for tests, made in a temporary folder.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "wire/tls_context.h"

namespace tickstack::wire {

class TestCertificates {
 public:
  TestCertificates() {
    std::string pattern = std::filesystem::temp_directory_path() / "tickstack-tls-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    root_ = Make("root", "", 3600);
    other_root_ = Make("other_root", "", 3600);
  }
  ~TestCertificates() { std::filesystem::remove_all(folder_); }

  std::string ca() const { return Path("root", "pem"); }
  std::string other_ca() const { return Path("other_root", "pem"); }
  // Writes NAME.pem and NAME.key: a certificate for `names`, such as `IP:127.0.0.1,DNS:localhost`,
  // that expires `seconds` from now.
  TlsServerOptions Issue(const std::string& name, const std::string& names,
                         long seconds = 3600) const {
    Make(name, names, seconds);
    return {Path(name, "pem"), Path(name, "key"), ""};
  }

 private:
  using Key = std::shared_ptr<EVP_PKEY>;
  using Certificate = std::shared_ptr<X509>;
  struct Issued {
    Key key;
    Certificate certificate;
  };

  std::string Path(const std::string& name, const std::string& kind) const {
    return folder_ + "/" + name + "." + kind;
  }

  static void Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    ASSERT_NE(extension, nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  // Makes a certificate that root_ signs, or if `names` is empty, a root that signs itself.
  Issued Make(const std::string& name, const std::string& names, long seconds) const {
    Issued made{Key(EVP_EC_gen("P-256"), EVP_PKEY_free), Certificate(X509_new(), X509_free)};
    X509* const certificate = made.certificate.get();
    const bool is_root = names.empty();
    const Issued& issuer = is_root ? made : root_;
    static long serial = 1;
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -86'400);
    X509_gmtime_adj(X509_getm_notAfter(certificate), seconds);
    X509_set_pubkey(certificate, made.key.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer.certificate.get()));
    Extend(certificate, issuer.certificate.get(), NID_basic_constraints,
           is_root ? "critical,CA:TRUE" : "CA:FALSE");
    if (!is_root) Extend(certificate, issuer.certificate.get(), NID_subject_alt_name, names);
    EXPECT_GT(X509_sign(certificate, issuer.key.get(), EVP_sha256()), 0);
    std::FILE* const pem = std::fopen(Path(name, "pem").c_str(), "w");
    PEM_write_X509(pem, certificate);
    std::fclose(pem);
    std::FILE* const key = std::fopen(Path(name, "key").c_str(), "w");
    PEM_write_PrivateKey(key, made.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(key);
    return made;
  }

  std::string folder_;
  Issued root_, other_root_;
};

}  // namespace tickstack::wire
