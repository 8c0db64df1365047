#include "security/credentials_file.h"

#include "base/status.h"
#include "security/password.h"
#include "security/private_file.h"
#include "security/users_file.h"

namespace tickstack::security {
namespace {

absl::StatusOr<FileCredentials> ParseCredentialsLine(std::string_view line,
                                                     const std::string& path) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const size_t colon = line.find(':');
  const bool whole = colon != std::string_view::npos && CheckUserName(line.substr(0, colon)).ok() &&
                     CheckPassword(line.substr(colon + 1)).ok();
  if (!whole) return InvalidArgument("{}: expected one line user:password", path);
  return FileCredentials{std::string(line.substr(0, colon)), Secret(line.substr(colon + 1))};
}

}  // namespace

absl::StatusOr<FileCredentials> LoadCredentials(const std::string& path) {
  TS_ASSIGN_OR_RETURN(std::string text, ReadPrivateFile(path, kOwnerOnly));
  absl::StatusOr<FileCredentials> credentials = ParseCredentialsLine(text, path);
  Wipe(text);
  return credentials;
}

absl::StatusOr<FileCredentials> LoadOrCreateCredentials(const std::string& path) {
  absl::StatusOr<FileCredentials> found = LoadCredentials(path);
  if (!absl::IsNotFound(found.status())) return found;
  std::string secret = RandomSecret();
  std::string line = fmt::format("{}:{}\n", kStackUser, secret);
  absl::Status created = CreatePrivateFile(path, line);
  Wipe(secret);
  Wipe(line);
  // Another process may have been faster.
  if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
  return LoadCredentials(path);
}

}  // namespace tickstack::security
