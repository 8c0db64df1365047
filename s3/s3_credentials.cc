#include "s3/s3_credentials.h"

#include <cstdlib>

#include "base/status.h"
#include "security/private_file.h"

namespace tickstack::s3 {
namespace {

std::string_view WithoutSpaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::string OfEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

absl::StatusOr<S3Credentials> ParseS3Credentials(std::string_view text) {
  S3Credentials credentials;
  for (int number = 1; !text.empty(); ++number) {
    const size_t newline = text.find('\n');
    const std::string_view line = WithoutSpaces(text.substr(0, newline));
    text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
    if (line.empty() || line.front() == '#' || line.front() == '[') continue;
    const size_t equals = line.find('=');
    const std::string_view key = WithoutSpaces(line.substr(0, equals));
    std::string* const target = key == "aws_access_key_id"       ? &credentials.access_key
                                : key == "aws_secret_access_key" ? &credentials.secret_key
                                : key == "aws_session_token"     ? &credentials.session_token
                                                                 : nullptr;
    if (equals == std::string_view::npos || target == nullptr) {
      return InvalidArgument(
          "line {}: expected aws_access_key_id, aws_secret_access_key or aws_session_token, `=` "
          "and a value",
          number);
    }
    *target = WithoutSpaces(line.substr(equals + 1));
  }
  if (!credentials.access_key.empty() && !credentials.secret_key.empty()) return credentials;
  return InvalidArgument("expected lines with aws_access_key_id and aws_secret_access_key");
}

absl::StatusOr<S3Credentials> LoadS3Credentials(const std::string& path) {
  if (path.empty()) {
    S3Credentials credentials{OfEnvironment("AWS_ACCESS_KEY_ID"),
                              OfEnvironment("AWS_SECRET_ACCESS_KEY"),
                              OfEnvironment("AWS_SESSION_TOKEN")};
    if (!credentials.access_key.empty() && !credentials.secret_key.empty()) return credentials;
    return InvalidArgument(
        "no keys of the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
        "environment, or hdb.tiers.credentials to a file");
  }
  TS_ASSIGN_OR_RETURN(const std::string text,
                      security::ReadPrivateFile(path, security::kOwnerOnly));
  absl::StatusOr<S3Credentials> credentials = ParseS3Credentials(text);
  if (!credentials.ok()) return Annotate(credentials.status(), path);
  return credentials;
}

}  // namespace tickstack::s3
