#include "s3/archive_access.h"

#include <algorithm>

#include "base/status.h"
#include "disk/archived_bytes.h"
#include "s3/s3_credentials.h"
#include "s3/s3_store.h"

namespace tickstack::s3 {
namespace {

absl::Status CheckPrefix(const std::string& prefix) {
  const bool is_plain = std::ranges::all_of(prefix, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
  const bool has_parts = !prefix.starts_with('/') && !prefix.ends_with('/') &&
                         !prefix.starts_with('.') && prefix.find("//") == std::string::npos &&
                         prefix.find("/.") == std::string::npos;
  if (is_plain && has_parts) return absl::OkStatus();
  return InvalidArgument(
      "prefix \"{}\": expected names of letters, digits, `-`, `_` and `.`, with `/` between them",
      prefix);
}

}  // namespace

absl::StatusOr<std::shared_ptr<disk::ObjectStore>> OpenStoreOf(const ArchiveSettings& settings) {
  if (settings.store.empty()) {
    return FailedPrecondition(
        "no object store: expected `store` in [hdb.tiers] of the configuration");
  }
  TS_RETURN_IF_ERROR(CheckPrefix(settings.prefix));
  S3Options options;
  options.endpoint = settings.store;
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  options.bucket = settings.bucket;
  options.region = settings.region;
  options.timeout = settings.timeout;
  options.connect_timeout = std::min(options.connect_timeout, settings.timeout);
  TS_ASSIGN_OR_RETURN(options.credentials, LoadS3Credentials(settings.credentials));
  return OpenS3Store(options);
}

absl::Status ArchiveAccess::Begin(const ArchiveSettings& settings) {
  if (settings.store.empty()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(store_, OpenStoreOf(settings));
  disk::ArchiveCache::Instance().Configure(settings.cache_bytes, settings.requests);
  disk::SetObjectStore(store_);
  return absl::OkStatus();
}

ArchiveAccess::~ArchiveAccess() {
  if (store_ == nullptr) return;
  disk::ArchiveCache::Instance().Stop();
  disk::SetObjectStore(nullptr);
}

}  // namespace tickstack::s3
