"""check-options: what does not compile with some choice of backends is found, and said with which."""
import unittest

from sandbox import Sandbox

NEEDS_SHM_WHERE_THERE_IS_TCP = """
#if defined(COBRE_COMM_HAS_TCP) && !defined(COBRE_COMM_HAS_SHM)
int broken = nowhere;
#endif
"""


class CheckOptions(Sandbox):
    def setUp(self):
        super().setUp()
        self.write("src/asks.cpp", "#ifdef COBRE_COMM_HAS_MPI\n#endif\n")
        self.write("src/never_asks.cpp", "this is not looked at\n")
        self.write("bench/speed.cpp", "int main() {}\n")
        self.configures("asks", "never_asks")

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def configures(self, *sources):
        """The place of cmake: writes how these, and for the benchmarks another one, are compiled."""
        entry = f'{{"directory": "{self.root}", "file": "{self.root}/\'$1\'", "command": "clang++-19 -Isrc\'$flags\' -o x.o -c x"}}'
        self.command("cmake", f"""
flags=; bench=
for word in "$@"; do
  case $word in
    -DCOBRE_COMM_BUILD_BENCH=ON) bench=1 ;;
    -DCOBRE_COMM_*=ON) flags+=" -DCOBRE_COMM_HAS_$(expr "$word" : '-DCOBRE_COMM_\\(.*\\)=')" ;;
  esac
done
entry() {{ echo '{entry}'; }}
{{
  echo '['
  for name in {" ".join(sources)}; do entry "src/$name.cpp"; echo ,; done
  if [ "$bench" ]; then entry bench/speed.cpp; else entry src/never_asks.cpp; fi
  echo ']'
}} > "$4/compile_commands.json"
""")

    def outcome(self):
        result = self.run_tool("check-options", "--jobs", "1")
        return result.returncode, result.stdout

    def test_each_choice_and_the_benchmarks_are_read(self):
        self.assertEqual(self.outcome(), (0, "".join(f"{what}: 1 sources\n" for what in (
            "mpi without the others", "tcp without the others", "shm without the others",
            "mpi and tcp without the others", "mpi and shm without the others", "the benchmarks"))))

    def test_what_does_not_compile_with_some_choice_is_found_there(self):
        self.write("src/asks.cpp", NEEDS_SHM_WHERE_THERE_IS_TCP)
        code, said = self.outcome()
        self.assertEqual((code, said.count("undeclared identifier 'nowhere'")), (1, 2))
        for choice in ("tcp", "mpi and tcp"):
            self.assertRegex(said, f"(?m)^{choice} without the others: 1 sources\nIn file included")

    def test_a_source_whose_header_asks_is_read_too(self):
        self.write("src/comm/layout.hpp", NEEDS_SHM_WHERE_THERE_IS_TCP)
        self.write("src/includes.cpp", '#include "comm/layout.hpp"\n')
        self.configures("includes")
        code, said = self.outcome()
        self.assertEqual((code, said.count("undeclared identifier 'nowhere'")), (1, 2))

    def test_reading_nothing_is_no_success(self):
        self.configures("never_asks")
        code, said = self.outcome()
        self.assertEqual(code, 1)
        self.assertIn("mpi without the others: 0 sources\n", said)

    def test_a_benchmark_that_does_not_compile_is_found(self):
        self.write("bench/speed.cpp", "int main() { return nowhere; }\n")
        code, said = self.outcome()
        self.assertEqual(code, 1)
        self.assertRegex(said, "(?m)^the benchmarks: 1 sources\n.*speed.cpp")

    def test_a_choice_that_cannot_be_configured_is_said(self):
        self.command("cmake", "echo no such option; exit 1")
        result = self.run_tool("check-options")
        self.assertEqual(result.returncode, 1)
        self.assertIn("mpi without the others cannot be configured:\nno such option", result.stderr)


if __name__ == "__main__":
    unittest.main()
