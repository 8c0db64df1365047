#pragma once

// Files of pages in the program: HTML, scripts and style sheets that a process serves as they are.
//
//   GET /page/NAME   a file; no name of a value contains a slash, so this path cannot be a query
//   GET /            a file, too; `/?` is a query, even if nothing follows
//
// A file needs what a query needs: a login, if there are users. Its policy allows scripts, styles
// and requests of the same process only, and neither inline scripts nor inline styles.

#include <span>
#include <string_view>

namespace tickstack::wire {

struct PageFile {
  std::string_view path;  // `/page/live.js`
  std::string_view content_type;
  std::string_view text;
};

// The Content-Security-Policy of files.
inline constexpr std::string_view kPageFilePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

// Returns the file at a request's target, nullptr if there is none. What follows a question mark is
// left to the page's script, except at `/`. Paths are compared byte by byte, without escapes.
const PageFile* FindPageFile(std::span<const PageFile> files, std::string_view target);

}  // namespace tickstack::wire
