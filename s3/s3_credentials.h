#pragma once

// The keys with which requests to an S3 service are signed. They come from a file or from the
// environment, never from a command line, which other users can see.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::s3 {

struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // Empty, unless the keys are temporary.
};

// Parses the content of a file in the format of AWS's tools:
//
//   [default]
//   aws_access_key_id = AKIA...
//   aws_secret_access_key = ...
//   aws_session_token = ...        optional
//
// Lines that begin with `#` or `[` are ignored. kInvalidArgument, with the line but without its
// content, for anything else.
absl::StatusOr<S3Credentials> ParseS3Credentials(std::string_view text);

// Reads the file at `path`: kFailedPrecondition if other users can read it. If `path` is empty,
// reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the environment:
// kInvalidArgument if one of the first two is missing.
absl::StatusOr<S3Credentials> LoadS3Credentials(const std::string& path);

}  // namespace tickstack::s3
