#include "wire/http_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "table/format_value.h"
#include "wire/http_question.h"

namespace tickstack::wire {
namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--note:#777}
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:110rem}
form{display:flex;gap:.5rem;margin-bottom:1rem}
textarea,button,td,th,pre{font-family:ui-monospace,monospace;font-size:.9rem}
textarea{flex:1;min-width:0;padding:.5rem;border:1px solid var(--line);border-radius:.3rem;field-sizing:content}
button{padding:0 1.2rem;border:1px solid var(--line);border-radius:.3rem;cursor:pointer}
.wide{overflow-x:auto}
table{border-collapse:collapse}
th,td{padding:.15rem .7rem;text-align:left;white-space:pre;border-bottom:1px solid var(--line)}
th{position:sticky;top:0;background:Canvas}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td.k{background:var(--soft)}
tbody tr:hover{background:var(--soft)}
pre{overflow-x:auto;padding:.7rem;background:var(--soft);border-radius:.3rem}
p{color:var(--note)}
.error{color:#c33;font-weight:600}
@media print{form,p.links{display:none}th{position:static}}
)";

std::string PageOf(std::string_view title, std::string_view query, std::string_view content) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>"
      "<meta name=\"viewport\" content=\"width=device-width\"><style>{}</style></head><body>\n"
      "<form method=\"post\" action=\"/\" enctype=\"text/plain\">"
      "<textarea name=\"q\" rows=\"2\" spellcheck=\"false\" aria-label=\"q expression\" autofocus>"
      "\n{}</textarea><button>ask</button></form>\n{}</body></html>\n",
      EscapeHtml(title.substr(0, 80)), kStyle, EscapeHtml(query), content);
}

std::string LinksOf(std::string_view query) {
  const std::string asked = EscapeUrl(query);
  return fmt::format(
      "<p class=\"links\">all of it: <a href=\"/?{0}\">link</a> &middot; "
      "<a href=\"/answer.csv?{0}\">CSV</a> &middot; <a href=\"/answer.json?{0}\">JSON</a> &middot; "
      "<a href=\"/answer.txt?{0}\">text</a></p>\n",
      asked);
}

// True if the cells of a column are aligned to the right.
bool IsNumeric(const Value& column) {
  return column.is_vector() && !column.is(Type::kSymbol) && !column.is(Type::kChar);
}

// Appends the head or a row of a table's columns.
void AppendHead(std::string& html, const Value& table) {
  for (size_t c = 0; c < table.columns().size(); ++c) {
    html += fmt::format("<th{}>{}</th>", IsNumeric(table.columns()[c]) ? " class=\"n\"" : "",
                        EscapeHtml(table.column_names()[c]));
  }
}

void AppendCells(std::string& html, const Value& table, size_t row, bool key) {
  for (const Value& column : table.columns()) {
    const bool numeric = IsNumeric(column);
    const char* const kind = numeric && key ? " class=\"n k\""
                             : numeric      ? " class=\"n\""
                             : key          ? " class=\"k\""
                                            : "";
    html += fmt::format("<td{}>{}</td>", kind, EscapeHtml(CellText(column, row)));
  }
}

std::string TableHtml(const Value* keys, const Value& table) {
  const size_t rows = table.count(), shown = std::min(rows, kPageRows);
  std::string html = "<div class=\"wide\"><table><thead><tr>";
  if (keys != nullptr) AppendHead(html, *keys);
  AppendHead(html, table);
  html += "</tr></thead><tbody>\n";
  for (size_t row = 0; row < shown; ++row) {
    html += "<tr>";
    if (keys != nullptr) AppendCells(html, *keys, row, true);
    AppendCells(html, table, row, false);
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  html += shown < rows ? fmt::format("<p>showing the first {} of {} rows</p>\n", shown, rows)
                       : fmt::format("<p>{} row{}</p>\n", rows, rows == 1 ? "" : "s");
  return html;
}

std::string ValueHtml(const Value& value) {
  if (value.is_table()) return TableHtml(nullptr, value);
  if (value.is_keyed_table()) return TableHtml(&value.keys(), value.values());
  if (value.is_null()) return "<p>done; the expression has no result</p>\n";
  const TextLimits limits{.lines = kPageRows, .columns = 100'000};
  return fmt::format("<pre>{}</pre>\n", EscapeHtml(FormatText(value, limits)));
}

}  // namespace

std::string AnswerPage(std::string_view query, const Value& answer) {
  return PageOf(query, query, ValueHtml(answer) + LinksOf(query));
}

std::string ErrorPage(std::string_view query, std::string_view what) {
  return PageOf(what, query, fmt::format("<p class=\"error\">{}</p>\n", EscapeHtml(what)));
}

std::string IndexPage(const std::vector<std::string>& tables) {
  std::string list;
  for (const std::string& table : tables) {
    const auto ask = [](const std::string& query) { return EscapeUrl(query); };
    list += fmt::format(
        "<tr><td><a href=\"/?{0}\">{1}</a></td><td><a href=\"/?{2}\">columns</a></td>"
        "<td><a href=\"/?{3}\">rows</a></td></tr>\n",
        ask(fmt::format("select[-100] from {}", table)), EscapeHtml(table), ask("meta " + table),
        ask("count " + table));
  }
  const std::string content = list.empty()
                                  ? "<p>this process has no tables</p>\n"
                                  : fmt::format("<table><tbody>\n{}</tbody></table>\n", list);
  return PageOf("tickstack", "", content);
}

}  // namespace tickstack::wire
