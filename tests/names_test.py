#!/usr/bin/env python3
"""A type's name says which type it is.

- No namespace has two types of one name, even where no file sees both.
- No type has the name of one in an enclosing namespace, which it would hide.
- A folder's names are in `tickstack::FOLDER` or a namespace within it. Only base/ and table/, the vocabulary of all
  others, define names in `tickstack` itself (docs/decisions/0025-names-of-base-and-table.md).

Types are classes, structs, unions, enums and aliases. Those within a function, a class or an unnamed namespace
are visible to one file or by its class, and are not compared.
"""

import collections
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_SOURCES = {"build", "data", "third_party"}
# Folders that define names in `tickstack` itself.
VOCABULARY = {"base", "table"}
# Their files are in the namespace of what they test; nothing else includes them.
GUESTS = {"fuzz", "tests"}

# Comments, literals and preprocessor lines, whose braces are not those of scopes.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S | re.M)
NAMESPACE = re.compile(r"(?:^|\s)namespace\s*(?:\[\[.*?\]\]\s*)?([\w:]*)\s*$")
TYPE = re.compile(r"(?:^|[\s>])(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:(?:\[\[.*?\]\]|alignas\s*\([^)]*\))\s*)*(\w+)\s*(?:final\s*)?(?::[^:].*)?$", re.S)
ALIAS = re.compile(r"^\s*(?:template\s*<.*>\s*)?using\s+(\w+)\s*=", re.S)


FORWARD = re.compile(r"^\s*(?:class|struct|enum(?:\s+class)?)\s+\w+(?:\s*:\s*\w+)?\s*$")


def names(text):
    """What `text` defines in named namespaces, as (namespace, name of a type or "", number of its line)."""
    text = NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    scopes = []  # Names of namespaces; None: a function's, a class's or an unnamed namespace's.
    begin = 0
    for match in re.finditer(r"[{};]", text):
        head = text[begin:match.start()]
        line = text.count("\n", 0, match.start() - len(head.lstrip())) + 1
        begin = match.end()
        if match[0] == "}":
            if scopes:
                scopes.pop()
            continue
        space = match[0] == "{" and NAMESPACE.search(head)
        forward = match[0] == ";" and FORWARD.match(head)
        if None not in scopes and head.strip() and not space and not forward:
            name = (TYPE if match[0] == "{" else ALIAS).search(head)
            yield "::".join(scopes), name[1] if name else "", line
        if match[0] == "{":
            scopes.append(space[1] or None if space else None)


def sources(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.suffix in (".h", ".cc") and len(relative.parts) > 1 and not hidden and relative.parts[0] not in NOT_SOURCES:
            yield relative


def complaints(root):
    found, places = [], collections.defaultdict(list)
    for source in sources(root):
        folder = source.parts[0]
        for namespace, name, line in names((root / source).read_text(encoding="utf-8")):
            if name and namespace:
                places[name, namespace].append(f"{source}:{line}")
            if namespace == "tickstack" and folder not in VOCABULARY | GUESTS:
                found.append(f"{source}:{line}: {name or 'this'} belongs in tickstack::{folder}")
    for (name, namespace), where in sorted(places.items()):
        if len(where) > 1:
            found.append(f"{namespace}::{name} is defined {len(where)} times: {', '.join(where)}")
        outer = namespace.rpartition("::")[0]
        while outer:
            if (name, outer) in places:
                found.append(f"{where[0]}: {namespace}::{name} hides {outer}::{name} of {places[name, outer][0]}")
            outer = outer.rpartition("::")[0]
    return found


class NamesTest(unittest.TestCase):
    maxDiff = None

    def complaints_of(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return complaints(root)

    def test_this_repository_keeps_to_it(self):
        defined = {(space, name) for source in sources(ROOT) for space, name, _ in names((ROOT / source).read_text(encoding="utf-8"))}
        for known in (("tickstack", "Value"), ("tickstack::query", "AnyColumn"), ("tickstack::wire", "EventLoop"),
                      ("tickstack::cli", "ProcessKind"), ("tickstack", "ByteBuffer")):
            self.assertIn(known, defined)
        self.assertEqual([], complaints(ROOT))

    def test_two_types_of_one_name_are_found_in_whatever_files(self):
        files = {"rdb/a.h": "namespace tickstack::rdb {\nclass [[nodiscard]] A final : public B<int> {\n};\n}\n",
                 "rdb/b.cc": "namespace tickstack {\nnamespace rdb {\n\nenum class A : int { kOne };\n}\n}\n"}
        self.assertEqual(["tickstack::rdb::A is defined 2 times: rdb/a.h:2, rdb/b.cc:4"], self.complaints_of(files))
        aliases = {"rdb/a.h": "namespace tickstack::rdb { using A = int; }", "rdb/b.h": "namespace tickstack::rdb { union A {}; }"}
        self.assertEqual(1, len(self.complaints_of(aliases)))

    def test_names_of_one_file_and_of_classes_are_free(self):
        files = {"rdb/a.h": "namespace tickstack::rdb { class X { struct A {}; enum B { k }; }; class Y; struct Z f(); }",
                 "rdb/b.h": "namespace tickstack::rdb { class Y { struct A {}; }; template <class Z> Z g() { struct A {}; } }",
                 "rdb/c.cc": "namespace tickstack::rdb {\nnamespace {\nstruct X {};\nusing Y = int;\n}\n}",
                 "rdb/d.cc": "namespace tickstack::rdb { namespace { struct X {}; } using internal::Y; struct X::A {}; }",
                 "hdb/a.h": "namespace tickstack::hdb { class X {}; class Y {}; }"}
        self.assertEqual([], self.complaints_of(files))

    def test_braces_of_comments_and_literals_are_no_scopes(self):
        text = ('#define OPEN {  // {\n// } {\n/* struct A { */ namespace tickstack::rdb {\nchar c = \'{\'; int n = 1\'000;\n'
                'auto s = "}\\"{" R"x({"})x";\nstruct A {};\n}\n')
        self.assertIn(("tickstack::rdb", "A", 6), list(names(text)))
        self.assertNotIn("", {space for space, _, _ in names(text)})

    def test_a_name_that_hides_one_of_the_vocabulary_is_found(self):
        files = {"table/a.h": "namespace tickstack { class Column {}; }",
                 "query/a.h": "namespace tickstack::query {\nstruct Column {};\n}",
                 "loadtest/a.h": "namespace tickstack::loadtest { struct Run {}; namespace report { struct Run {}; } }"}
        self.assertEqual(["query/a.h:2: tickstack::query::Column hides tickstack::Column of table/a.h:1",
                          "loadtest/a.h:1: tickstack::loadtest::report::Run hides tickstack::loadtest::Run of loadtest/a.h:1"],
                         self.complaints_of(files))

    def test_only_base_and_table_define_names_in_tickstack(self):
        text = "namespace tickstack {\nclass Declared;\nstruct A {};\nint F();\nnamespace rdb { int G(); }\n}"
        self.assertEqual(["rdb/a.h:3: A belongs in tickstack::rdb", "rdb/a.h:4: this belongs in tickstack::rdb"],
                         self.complaints_of({"rdb/a.h": text}))
        for folder in ("base", "table", "tests"):
            self.assertEqual([], self.complaints_of({f"{folder}/a.h": text}))


if __name__ == "__main__":
    unittest.main(verbosity=1 if len(sys.argv) == 1 else 2)
