#pragma once

// Objects in a bucket of an S3 service, over HTTP or HTTPS. Requests have the form
// ENDPOINT/BUCKET/KEY, which all services understand.

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "disk/object_store.h"
#include "s3/s3_credentials.h"

namespace tickstack::s3 {

struct S3Options {
  std::string endpoint;  // `https://s3.example.com`, or `http://127.0.0.1:7070`.
  std::string bucket;
  std::string region = "us-east-1";
  S3Credentials credentials;
  // The longest time of a read, including that of its bytes, after which it is tried again. A write
  // may take longer, but is tried again if it sends less than 16 KiB/s for this time.
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds connect_timeout{5'000};
  // How often a request is tried that could not reach the service, timed out, or got an error of
  // the service itself (5xx, or 429: too many requests). Between two of these it waits: 100 ms at
  // first, then twice as long each time.
  int attempts = 3;
};

// Checks the options; does not connect. kInvalidArgument for an endpoint that is no URL of HTTP or
// HTTPS, or has a path; for characters in the bucket or region that S3 does not allow; for an
// empty key of the credentials.
//
// The store keeps connections open, one for each request that runs at the same time. It checks the
// certificate of an HTTPS endpoint. libcurl's environment variables for proxies apply.
absl::StatusOr<std::shared_ptr<disk::ObjectStore>> OpenS3Store(const S3Options& options);

}  // namespace tickstack::s3
