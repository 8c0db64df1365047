#include "wire/page_files.h"

#include <algorithm>

namespace tickstack::wire {

const PageFile* FindPageFile(std::span<const PageFile> files, std::string_view target) {
  target = target.substr(0, target.find('#'));
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/" && path != target) return nullptr;
  const auto found = std::ranges::find(files, path, &PageFile::path);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace tickstack::wire
