"""The Debian packages: each file in one of them, each with what it needs, nothing that remembers where it was built.

usage: contents_test.py <build folder>
"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1))
PACKAGES = {"cobre-comm", "cobre-comm-dev", "cobre-comm-tools", "ferrompi", "ferrompi-dev"}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = BUILD / "package-test"
        output_of("cmake", "-E", "rm", "-rf", str(folder))
        output_of("cpack", "--config", str(BUILD / "CPackConfig.cmake"), "-B", str(folder))
        cls.files, cls.needs, cls.roots, cls.words = {}, {}, {}, {}
        for deb in folder.glob("*.deb"):
            name = output_of("dpkg-deb", "--field", str(deb), "Package").strip()
            lines = output_of("dpkg-deb", "--contents", str(deb)).splitlines()
            cls.files[name] = {line.split()[5].removeprefix("./") for line in lines if not line.startswith("d")}
            depends = output_of("dpkg-deb", "--field", str(deb), "Depends").strip()
            cls.needs[name] = dict(re.match(r"(\S+)(?: \((.*)\))?$", need).groups() for need in depends.split(", ") if need)
            cls.words[name] = output_of("dpkg-deb", "--field", str(deb), "Description").splitlines()
            cls.roots[name] = folder / "roots" / name
            cls.roots[name].mkdir(parents=True)
            output_of("dpkg-deb", "--extract", str(deb), str(cls.roots[name]))

    def ends(self, package, *endings):
        for ending in endings:
            self.assertTrue(any(file.endswith(ending) for file in self.files[package]), f"{package} has no {ending}")

    def test_there_are_five(self):
        self.assertEqual(set(self.files), PACKAGES)

    def test_each_says_in_a_line_of_its_own_what_it_is(self):
        self.assertEqual(len({words[0] for words in self.words.values()}), len(PACKAGES))
        for words in self.words.values():
            self.assertGreater(len(words), 1)

    def test_no_file_is_in_two_of_them(self):
        everything = [file for files in self.files.values() for file in files]
        self.assertEqual(len(everything), len(set(everything)))

    def test_each_holds_what_its_users_look_for(self):
        self.ends("cobre-comm-tools", "/bin/cobre-comm", "/libexec/cobre-comm/cobre-bench-ours",
                  "/libexec/cobre-comm/cobre-bench-limits", "/libexec/cobre-comm/cobre-bench-openmpi")
        self.ends("cobre-comm-dev", "/cobre/comm.hpp", "/cobre/comm/config.hpp", "/cobre-comm-config.cmake", "/libcobre-comm.so",
                  "/cobre-comm-config-version.cmake", "/cobre-comm.pc")
        self.ends("ferrompi-dev", "/ferrompi/ferrompi.hpp", "/cobre/comm/base/error.hpp", "/ferrompi-config.cmake",
                  "/ferrompi-config-version.cmake", "/ferrompi.pc", "/libferrompi.so")
        for package in PACKAGES:
            self.ends(package, f"/doc/{package}/copyright")

    def test_who_only_runs_programs_gets_only_versioned_libraries(self):
        for package in ("cobre-comm", "ferrompi"):
            libraries = {file for file in self.files[package] if "/share/" not in file}
            self.assertEqual({Path(file).name.split(".so.")[0] for file in libraries}, {f"lib{package}"})

    def test_each_needs_its_siblings_in_its_own_version_and_the_libraries_that_it_links(self):
        version = self.needs["cobre-comm-dev"]["cobre-comm"]
        self.assertRegex(version, r"^= \d+\.\d+\.\d+$")
        for package, siblings in {
            "cobre-comm": ["ferrompi"],
            "cobre-comm-dev": ["cobre-comm", "ferrompi-dev"],
            "cobre-comm-tools": ["cobre-comm"],
            "ferrompi": [],
            "ferrompi-dev": ["ferrompi"],
        }.items():
            ours = {name: need for name, need in self.needs[package].items() if name in PACKAGES}
            self.assertEqual(ours, {name: version for name in siblings}, package)
        self.assertLessEqual({"libc6", "libssl3", "libhwloc15", "libopenmpi3"}, set(self.needs["cobre-comm"]))
        self.assertIn("libopenmpi3", self.needs["ferrompi"])
        self.assertIn("libopenmpi-dev", self.needs["ferrompi-dev"])

    def test_a_library_asks_for_its_interface_and_not_for_a_path(self):
        for package in ("cobre-comm", "ferrompi"):
            library = next(self.roots[package].rglob("lib*.so.*.*.*"))
            header = output_of("readelf", "--dynamic", str(library))
            self.assertRegex(header, rf"SONAME.*\[lib{package}\.so\.\d+\.\d+\]")
            self.assertRegex(header, r"R(UN)?PATH.*\[\$ORIGIN\]")

    def test_nothing_remembers_where_it_was_built(self):
        tree = str(Path(__file__).parents[2]).encode()
        for root in self.roots.values():
            for file in (file for file in root.rglob("*") if file.is_file() and not file.is_symlink()):
                self.assertNotIn(tree, file.read_bytes(), file)


if __name__ == "__main__":
    unittest.main()
