"""Feeds the checks of the tree small trees that break one rule each, and expects to be told which, and where."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAYERS = (ROOT / "tools/dev/layers.txt").read_text(encoding="utf-8")


def run(check, files):
    """Runs a check over a tree made of `files`, a dictionary of path to text."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {"tools/dev/layers.txt": LAYERS, "tools/dev/no-messages.txt": "", **files}.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        command = [sys.executable, str(ROOT / "tools/dev" / check), folder]
        return subprocess.run(command, capture_output=True, text=True, check=False)


class Tree(unittest.TestCase):
    check = "check-layers"

    def accepts(self, files):
        result = run(self.check, files)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def refuses(self, files, *words):
        result = run(self.check, files)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stdout)


CORE = {"src/comm/core/clock.hpp": "#pragma once\n"}
SHM = {"src/comm/backends/shm/segment.hpp": "#pragma once\n"}


class Layering(Tree):
    def test_a_file_may_use_its_own_floor_and_those_below(self):
        self.accepts({
            **CORE,
            "include/cobre/comm/base/error.hpp": "#include <stdexcept>\n",
            "include/ferrompi/error.hpp": "#include <cobre/comm/base/error.hpp>\n#include <mpi.h>\n#ifdef OPEN_MPI\n#endif\n",
            "src/comm/backends/shm/a.cpp": '#include "comm/core/clock.hpp"\n#include <ferrompi/error.hpp>\n',
            "tools/cobre-comm/info/main.cpp": '#include <cobre/comm/base/error.hpp>\n#include "info/table.hpp"\n',
            "tools/cobre-comm/info/table.hpp": "#pragma once\n",
        })

    def test_a_lower_floor_may_not_use_a_higher_one(self):
        self.refuses({**SHM, "src/comm/core/a.cpp": '\n#include "comm/backends/shm/segment.hpp"\n'},
                     "src/comm/core/a.cpp:2", "core includes", "of backends, which stands above it")

    def test_public_headers_are_on_floors_one_by_one(self):
        self.refuses({"include/cobre/comm/run.hpp": "#pragma once\n",
                      "include/cobre/comm/local.hpp": "#include <cobre/comm/run.hpp>\n"},
                     "include/cobre/comm/local.hpp:1", "backends includes include/cobre/comm/run.hpp of factory")

    def test_a_header_without_a_floor_is_refused(self):
        self.refuses({"include/cobre/comm/new.hpp": "#pragma once\n"}, "include/cobre/comm/new.hpp:1", "no floor")

    def test_ferrompi_sees_only_the_headers_that_both_layers_share(self):
        self.refuses({**CORE, "src/ferrompi/a.cpp": '#include "comm/core/clock.hpp"\n'},
                     "src/ferrompi/a.cpp:1", "may use only include/cobre/comm/base/")

    def test_only_ferrompi_includes_the_mpi_header(self):
        self.refuses({"src/comm/backends/mpi/a.cpp": "#include <mpi.h>\n"},
                     "src/comm/backends/mpi/a.cpp:1", "<mpi.h> is for ferrompi alone")

    def test_only_ferrompi_asks_which_mpi_library_it_is(self):
        for line in ("#ifdef OPEN_MPI", "#if defined(MPICH_NUMVERSION)", "#  elif MPI_VERSION >= 4", "#ifndef OMPI_MAJOR_VERSION"):
            self.refuses({"src/comm/backends/mpi/a.cpp": line + "\n#endif\n"},
                         "src/comm/backends/mpi/a.cpp:1", "belongs to ferrompi")

    def test_a_public_header_does_not_reach_into_the_sources(self):
        for line in ('#include "comm/core/clock.hpp"', "#include <comm/core/clock.hpp>",
                     '#include "../../../src/comm/core/clock.hpp"'):
            self.refuses({**CORE, "include/cobre/comm/run.hpp": line + "\n"},
                         "include/cobre/comm/run.hpp:1", "a public header includes a private file")

    def test_the_product_does_not_know_tests_or_examples(self):
        for stranger in ("tests", "examples", "bench"):
            self.refuses({f"{stranger}/a.hpp": "#pragma once\n", "src/comm/core/a.cpp": f'#include "{stranger}/a.hpp"\n'},
                         "src/comm/core/a.cpp:1", f"does not know {stranger}/")

    def test_a_private_header_that_does_not_exist_is_refused(self):
        self.refuses({"src/comm/core/a.cpp": '#include "clock.hpp"\n'}, "src/comm/core/a.cpp:1", "is no file of the tree")

    def test_an_empty_tree_is_no_success(self):
        self.refuses({}, "0 files")


class Files(Tree):
    check = "check-files"

    def test_six_hundred_lines_are_accepted(self):
        self.accepts({"src/a.cpp": "\n" * 600})

    def test_a_longer_file_is_refused(self):
        self.refuses({"src/a.cpp": "\n" * 601}, "src/a.cpp:601", "601 lines")

    def test_an_example_of_eighty_lines_is_refused(self):
        self.accepts({"examples/a/main.cpp": "\n" * 79, "examples/a/part.cpp": "\n" * 80})
        self.refuses({"examples/a/main.cpp": "\n" * 80}, "examples/a/main.cpp:80", "80 lines")

    def test_unfinished_business_is_refused(self):
        for word in ("TO" + "DO", "FIX" + "ME"):
            self.refuses({"docs/a.md": f"\n{word}: later\n"}, "docs/a.md:2", "unfinished business")

    def test_a_path_of_one_machine_is_refused(self):
        for place in ("ho" + "me", "wo" + "rk"):
            self.refuses({"cmake/a.cmake": f"set(x /{place}/someone/x)\n"}, "cmake/a.cmake:1", "only one machine has")


class Links(Tree):
    check = "check-links"

    def test_links_between_pages_and_to_headings_are_accepted(self):
        self.accepts({"README.md": "[a](docs/a.md#two-words) [b](https://example.org/x)\n", "docs/a.md": "## Two words\n[r](../README.md)\n"})

    def test_a_link_to_a_missing_page_is_refused(self):
        self.refuses({"README.md": "\nsee [a](docs/a.md)\n"}, "README.md:2", "leads nowhere: docs/a.md")

    def test_a_link_to_a_missing_heading_is_refused(self):
        self.refuses({"README.md": "# One\n[a](#two)\n"}, "README.md:2", "leads nowhere: #two")


class Tables(Tree):
    check = "check-tables"
    SOURCES = {
        "include/cobre/comm/errors.hpp": "class Refused : public Error {\n};\n",
        "include/ferrompi/error.hpp": "",
        "src/comm/core/a.cpp": 'throw Refused("shm", core::format("rank {} is "\n   "much too late; start it sooner", rank));\n',
        "src/ferrompi/c.cpp": 'throw MpiError(operation, text_of("tag ", tag, " is outside of what can be carried"));\n',
        "tools/cobre-comm/d.cpp": 'throw cobre::command::UsageError("give the one or the other, not both");\n',
        "src/comm/core/b.cpp": 'read("COBRE_SHM_COLOUR"); say("COBRE_COMM_SHM"); name("ERR_SIZE");\n',
        "cmake/options.cmake": 'option(COBRE_COMM_SHM "Build the shm backend" ON)\n',
    }

    ROWS = ["## `Refused`", "`rank … is much too late; start it sooner`", "`tag … is outside of what can be carried`",
            "`give the one or the other, not both`"]

    VARIABLES = "| variable | meaning |\n|---|---|\n| `COBRE_SHM_COLOUR` | red |\n"

    def tree(self, without="", environment=VARIABLES):
        rows = "".join(f"{row}\n" for row in self.ROWS if not without or without not in row)
        return {**self.SOURCES, "docs/error-catalogue.md": rows, "docs/environment.md": environment}

    def test_complete_tables_are_accepted(self):
        self.accepts(self.tree())

    def test_a_class_that_is_not_in_the_catalogue_is_named(self):
        self.refuses(self.tree(without="Refused"), "the class Refused")

    def test_a_message_that_is_not_in_the_catalogue_is_named(self):
        self.refuses(self.tree(without="rank"), "src/comm/core/a.cpp: rank … is much too late; start it sooner")

    def test_so_is_one_of_ferrompi_or_of_the_command(self):
        self.refuses(self.tree(without="tag"), "src/ferrompi/c.cpp: is outside of what can be carried")
        self.refuses(self.tree(without="give"), "tools/cobre-comm/d.cpp: give the one or the other, not both")

    # What a user reads is often put together far from a throw, or on another rank.
    ELSEWHERE = {
        'std::string problem_with(int rank) { return core::format("rank {} came without an "\n "address", rank); }\n':
            "rank … came without an address",
        'std::throw_with_nested(Refused(where, core::format("MPI refused a buffer of {}", count)));\n': "MPI refused a buffer of",
        'if (!file) refuse(where, "the kernel gave no memory file");\n': "the kernel gave no memory file",
        'tell(arrived, Kind::Refused, "a process came twice");\n': "a process came twice",
        'problem = late ? "it does not answer" : "";\n': "it does not answer",
        'core::warn("no room for a message");\n': "no room for a message",
        'std::fprintf(stderr, "rank %d: an exception destroys %s\\n", rank, what);\n': "rank …: an exception destroys",
        """const char quote = '"'; say("behind a single quote");\n""": "behind a single quote",
    }

    def elsewhere(self, *rows):
        tree = self.tree() | {f"src/comm/core/e{i}.cpp": source for i, source in enumerate(self.ELSEWHERE)}
        tree["docs/error-catalogue.md"] += "".join(f"`{row}`\n" for row in rows)
        return tree

    def test_a_message_that_is_put_together_elsewhere_is_named_too(self):
        texts = list(self.ELSEWHERE.values())
        self.accepts(self.elsewhere(*texts))
        for i, text in enumerate(texts):
            with self.subTest(text=text):
                rest = texts[:i] + texts[i + 1:]
                self.refuses(self.elsewhere(*rest), f"src/comm/core/e{i}.cpp: {text}\n", "1 rows are wrong or missing")

    def test_a_row_that_breaks_off_is_not_enough(self):
        self.refuses(self.elsewhere(*(text[:-1] for text in self.ELSEWHERE.values())), f"{len(self.ELSEWHERE)} rows")

    def test_words_of_the_page_that_are_no_message_do_not_count_as_one(self):
        tree = self.tree() | {"src/comm/core/e.cpp": 'refuse("the memory file cannot grow");\n'}
        tree["docs/error-catalogue.md"] += "It may be that the memory file cannot grow.\n"
        self.refuses(tree, "src/comm/core/e.cpp: the memory file cannot grow")

    def test_what_no_user_sees_at_run_time_needs_no_row(self):
        sources = ('// they say "this is only a comment" here\n', 'static_assert(f(g(1)), "two buffers of one length");\n',
                   'command->add_flag("--tag", tag, "Begin every line with its rank");\n', 'say("two words");\n',
                   'const char* const help = R"(how it is called\nand "why" so)";\n')
        self.accepts(self.tree() | {"src/comm/core/e.cpp": "".join(sources)})

    def test_an_exception_needs_a_reason_and_a_text_that_it_is_for(self):
        tree = self.tree() | {"src/comm/core/e.cpp": 'derive("the key of a job");\n'}
        exceptions = "tools/dev/no-messages.txt"
        for what in ('"the key of"', "src/comm/core/e.cpp"):
            with self.subTest(what=what):
                self.accepts(tree | {exceptions: f"# of texts\n{what} | a key is derived from it\n"})
                self.refuses(self.tree() | {exceptions: f"{what} | a key is derived from it\n"}, f"for nothing: {what}")
                result = run(self.check, tree | {exceptions: f"{what}\n"})
                self.assertEqual(result.returncode, 1)
                self.assertIn("no reason is given", result.stderr)

    def test_a_variable_that_is_not_in_the_table_is_named(self):
        self.refuses(self.tree(environment="\n"), "src/comm/core/b.cpp: COBRE_SHM_COLOUR")

    def test_so_is_one_of_others_however_it_is_read_or_set(self):
        for source, name in (('std::getenv("OMPI_MCA_osc_store")', "OMPI_MCA_osc_store"), ('std::getenv("SHELL")', "SHELL"),
                             ('number({"COBRE_SHM_COLOUR", "SLURM_NODE2"})', "SLURM_NODE2"),
                             ('setenv("MPIEXEC_X", "1", 1)', "MPIEXEC_X"), ('starts_with("LD_X=")', "LD_X")):
            with self.subTest(name=name):
                tree = self.tree() | {"tools/cobre-comm/e.cpp": f"{source};\n"}
                self.refuses(tree, f"not in docs/environment.md: tools/cobre-comm/e.cpp: {name}\n")
                tree["docs/environment.md"] += f"`{name}`"
                self.accepts(tree)

    def test_a_variable_that_nothing_reads_is_named(self):
        self.refuses(self.tree(environment=self.VARIABLES + "| `COBRE_SHM_COLOR` | no more |\n"),
                     "in docs/environment.md for nothing: line 4: COBRE_SHM_COLOR\n", "1 rows are wrong or missing")

    def with_row(self, row, head):
        """A complete tree, with a table of this one row at the end of the catalogue, and the number of its line."""
        tree = self.elsewhere(*self.ELSEWHERE.values())
        tree["docs/error-catalogue.md"] += f"\n| {head} |\n|---|---|\n| {row} |\n"
        return tree, tree["docs/error-catalogue.md"].count("\n")

    def test_a_row_that_nothing_says_any_more_is_named(self):
        for row, head, piece in (("`give the one or the two, not both` | x", "message | cause", "give the one or the two, not both"),
                                 ("`rank … is much too early; start it sooner` | x", "message | cause", "is much too early"),
                                 ("`tag … is much too late; begin it` | x", "message | cause", "begin it"),
                                 ("| `rank … was late` | x", "class | message | cause", "was late"),
                                 ("`before its first call` | x", "words | meaning", "before its first call")):
            with self.subTest(row=row):
                tree, line = self.with_row(row, head)
                self.refuses(tree, f"in docs/error-catalogue.md for nothing: line {line}: {piece}\n", "1 rows are wrong or missing")

    def test_a_row_may_be_put_together_from_several_texts(self):
        for row in ("`rank …: no room for a message; it does not answer` | x", "`… is much too late; start it sooner`, `…: word` | x",
                    "a process came twice | `some --command there` and `a word or two` say more"):
            with self.subTest(row=row):
                self.accepts(self.with_row(row, "message | cause")[0])

    def test_what_only_the_compiler_says_keeps_no_row(self):
        tree, _ = self.with_row("`two buffers of one length` | x", "message | cause")
        tree["src/comm/core/e.cpp"] = 'static_assert(same, "two buffers of one length");\n'
        self.refuses(tree, "two buffers of one length")

    def test_a_class_that_is_gone_is_named(self):
        tree, _ = self.with_row("`Forbidden` | `give the one or the other, not both`", "class | message")
        tree["docs/error-catalogue.md"] += "## `Refused`, `Rejected`\n"
        self.refuses(tree, "for nothing: there is no class Rejected\n", "for nothing: there is no class Forbidden\n", "2 rows")


if __name__ == "__main__":
    unittest.main()
