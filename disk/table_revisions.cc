#include "disk/table_revisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/mapping.h"
#include "base/status.h"
#include "disk/directory_copy.h"

namespace tickstack::disk {
namespace {

constexpr uint64_t kBytesMax = uint64_t{64} << 20;
constexpr int kHex = 16;

std::string ChecksumOfLine(std::string_view line) {
  return fmt::format("{:08x}", Crc32c(AsBytes(line)));
}

std::string LineOf(const TableRevision& each) {
  std::string name = each.source.name;
  std::ranges::replace_if(name, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  std::string line =
      fmt::format("{}\t{}\t{}\t{}\t{:08x}\t{}\t{}\t", each.number, each.action, each.rows_before,
                  each.rows_after, each.source.crc, each.source.bytes, name);
  return line + ChecksumOfLine(line) + "\n";
}

template <typename T>
bool ParseField(std::string_view text, T& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<TableRevision> ParseLine(std::string_view line) {
  std::array<std::string_view, 8> fields;
  const size_t last_tab = line.rfind('\t');
  if (last_tab == std::string_view::npos) return std::nullopt;
  std::string_view rest = line;
  for (size_t i = 0; i + 1 < fields.size(); ++i) {
    const size_t tab = rest.find('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    fields[i] = rest.substr(0, tab);
    rest.remove_prefix(tab + 1);
  }
  fields.back() = rest;
  TableRevision revision;
  const bool parsed = ParseField(fields[0], revision.number) &&
                      ParseField(fields[2], revision.rows_before) &&
                      ParseField(fields[3], revision.rows_after) &&
                      ParseField(fields[4], revision.source.crc, kHex) &&
                      ParseField(fields[5], revision.source.bytes);
  if (!parsed || fields[7] != ChecksumOfLine(line.substr(0, last_tab + 1))) return std::nullopt;
  revision.action = fields[1];
  revision.source.name = fields[6];
  return revision;
}

}  // namespace

absl::StatusOr<RevisionSource> SourceOf(const std::string& path) {
  RevisionSource source{0, 0, path};
  const auto add = [&source](const std::string& file) -> absl::Status {
    TS_ASSIGN_OR_RETURN(const Mapping mapping, Mapping::OfFile(file));
    source.crc = ExtendCrc32c(source.crc, mapping.bytes());
    source.bytes += mapping.bytes().size();
    return absl::OkStatus();
  };
  TS_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(path));
  if (!is_directory) {
    TS_RETURN_IF_ERROR(add(path));
    return source;
  }
  TS_RETURN_IF_ERROR(EachEntry(path, [&](const std::string& below, bool is_folder) {
    return is_folder ? absl::OkStatus() : add(path + below);
  }));
  return source;
}

absl::StatusOr<std::vector<TableRevision>> ReadRevisions(const std::string& table_directory) {
  const std::string path = fmt::format("{}/{}", table_directory, kRevisionsName);
  std::vector<TableRevision> revisions;
  const absl::StatusOr<ByteBuffer> bytes = ReadWholeFile(path, kBytesMax);
  if (absl::IsNotFound(bytes.status())) return revisions;
  TS_RETURN_IF_ERROR(bytes.status());
  std::string_view rest = AsText(bytes->span());
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::optional<TableRevision> revision;
    if (end != std::string_view::npos) revision = ParseLine(rest.substr(0, end));
    if (!revision) {
      return DataLoss("{}: line {} is damaged: its checksum or its form is wrong", path,
                      revisions.size() + 1);
    }
    revisions.push_back(*std::move(revision));
    rest.remove_prefix(end + 1);
  }
  return revisions;
}

std::string EncodeRevisions(std::span<const TableRevision> revisions) {
  std::string text;
  for (const TableRevision& each : revisions) text += LineOf(each);
  return text;
}

absl::StatusOr<uint64_t> RowsBeforeRevisions(const std::string& table_directory, uint64_t rows) {
  TS_ASSIGN_OR_RETURN(const std::vector<TableRevision> revisions, ReadRevisions(table_directory));
  return revisions.empty() ? rows : revisions.front().rows_before;
}

}  // namespace tickstack::disk
