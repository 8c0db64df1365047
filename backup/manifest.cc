#include "backup/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/status.h"

namespace tickstack::backup {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTag = "tickstack backup 1 crc32c ";
constexpr uint64_t kManifestBytesMax = uint64_t{1} << 30;

std::string ManifestPath(const std::string& directory) { return directory + "/" + kManifestName; }

// True if a path stays below the directory that it is relative to.
bool IsInside(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != path.npos) return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

Json JsonOf(const StoredFile& file) {
  return {{"path", file.path},
          {"stored", file.stored},
          {"bytes", file.bytes},
          {"crc32c", file.crc},
          {"changed_ns", file.changed_ns}};
}

absl::StatusOr<Manifest> ManifestOf(const Json& json) {
  Manifest manifest;
  manifest.time_ns = json.at("time_ns").get<int64_t>();
  manifest.generation = json.at("generation").get<uint64_t>();
  for (const Json& each : json.at("files")) {
    StoredFile file{.path = each.at("path").get<std::string>(),
                    .stored = each.at("stored").get<std::string>(),
                    .bytes = each.at("bytes").get<uint64_t>(),
                    .crc = each.at("crc32c").get<uint32_t>(),
                    .changed_ns = each.at("changed_ns").get<int64_t>()};
    for (const std::string* const path : {&file.path, &file.stored}) {
      if (!IsInside(*path)) return DataLoss("expected a path below the backup, found {}", *path);
    }
    std::string path = file.path;
    manifest.files.emplace(std::move(path), std::move(file));
  }
  manifest.messages = json.at("messages").get<std::map<std::string, uint64_t>>();
  return manifest;
}

absl::StatusOr<Manifest> Parse(std::string_view text) {
  const size_t line = text.find('\n');
  if (!text.starts_with(kTag) || line == text.npos) {
    return DataLoss("expected a first line \"{}...\"", kTag);
  }
  const std::string_view body = text.substr(line + 1);
  const std::string crc = fmt::format("{:08x}", Crc32c(std::as_bytes(std::span(body))));
  const std::string_view found = text.substr(kTag.size(), line - kTag.size());
  if (found != crc) return DataLoss("expected the checksum {}, found {}", crc, found);
  try {
    return ManifestOf(Json::parse(body));
  } catch (const Json::exception& error) {
    return DataLoss("{}", error.what());
  }
}

absl::StatusOr<std::string> BodyOf(const Json& json) {
  try {
    return json.dump(1) + "\n";
  } catch (const Json::exception& error) {  // A file's name is not UTF-8.
    return InvalidArgument("expected names of files in UTF-8: {}", error.what());
  }
}

}  // namespace

absl::StatusOr<std::optional<Manifest>> ReadManifest(const std::string& directory) {
  const std::string path = ManifestPath(directory);
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(path));
  if (!is_there) return std::nullopt;
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(path, kManifestBytesMax));
  absl::StatusOr<Manifest> manifest =
      Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!manifest.ok()) return Annotate(manifest.status(), path);
  return *std::move(manifest);
}

absl::Status WriteManifest(const std::string& directory, const Manifest& manifest) {
  Json json = {{"time_ns", manifest.time_ns},
               {"generation", manifest.generation},
               {"files", Json::array()},
               {"messages", manifest.messages}};
  for (const auto& [path, file] : manifest.files) json["files"].push_back(JsonOf(file));
  // File names are bytes, not always UTF-8.
  TS_ASSIGN_OR_RETURN(const std::string body, BodyOf(json));
  const std::string head = fmt::format("{}{:08x}\n", kTag, Crc32c(std::as_bytes(std::span(body))));
  const std::string path = ManifestPath(directory), new_path = path + ".new";
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(new_path));
  TS_RETURN_IF_ERROR(file.Truncate(0));
  TS_RETURN_IF_ERROR(file.WriteAt(0, std::as_bytes(std::span(head))));
  TS_RETURN_IF_ERROR(file.WriteAt(head.size(), std::as_bytes(std::span(body))));
  TS_RETURN_IF_ERROR(file.SyncData());
  return RenameReplacing(new_path, path);
}

}  // namespace tickstack::backup
