#pragma once

// Users and TLS for the processes of a bench: a users file, and a certificate that is its own root.

#include <cstdint>
#include <string>

#include "bench/loopback.h"
#include "wire/listener_options.h"

namespace tickstack::bench {

enum class Protection : uint8_t {
  kNone,
  kUsers,
  kUsersAndTls,
};

class ProtectionFiles {
 public:
  // Writes the files into `folder`, and lets this process trust the certificate. Ends the bench if
  // that fails.
  explicit ProtectionFiles(std::string folder);
  ~ProtectionFiles();
  ProtectionFiles(const ProtectionFiles&) = delete;
  ProtectionFiles& operator=(const ProtectionFiles&) = delete;

  // Protects the port of a process, and lets it log in to the others as the user `stack`. Starts a
  // thread, so call it in the process itself.
  void Protect(Protection protection, wire::ListenerOptions& listener) const;
  // Returns the address of a protected process of this machine.
  static std::string AddressOf(Protection protection, uint16_t port);
  // Return logins of a user who publishes, and of one who queries and administers.
  PeerLogin Feed(Protection protection) const;
  PeerLogin Reader(Protection protection) const;

 private:
  void WriteUsers() const;
  void WriteCertificate() const;
  std::string Path(const char* name) const { return folder_ + "/" + name; }

  const std::string folder_;
  const std::string password_, stack_password_;  // Random; `feed` and `reader` share one.
};

}  // namespace tickstack::bench
