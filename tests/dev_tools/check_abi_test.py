"""check-abi: what is gone, what is new, and what is nobody's business."""
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools/dev/check-abi"
SOURCE = """
namespace cobre::comm {
int stays(const char* text) { return text[0]; }
namespace core { int private_to_the_library() { return 1; } }
namespace { int nobody_sees_this() { return 2; } }
int uses_it() { return nobody_sees_this() + core::private_to_the_library(); }
}
int not_ours() { return 3; }
"""


class CheckAbi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.library = Path(cls.folder.name, "library.o")
        subprocess.run(["g++", "-x", "c++", "-c", "-", "-o", str(cls.library)], input=SOURCE, text=True, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, recorded, *options):
        record = Path(self.folder.name, "record.txt")
        record.write_text(recorded, encoding="utf-8")
        result = subprocess.run([str(TOOL), *options, f"{self.library}={record}"], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, record.read_text(encoding="utf-8")

    def test_the_record_of_a_library_is_its_public_names(self):
        code, _, record = self.check("", "--update")
        self.assertEqual((code, record), (0, "cobre::comm::stays(char const*)\ncobre::comm::uses_it()\n"))

    def test_a_library_that_is_as_recorded_passes(self):
        self.assertEqual(self.check("cobre::comm::stays(char const*)\ncobre::comm::uses_it()\n")[0], 0)

    def test_what_is_gone_and_what_is_new_are_named_with_the_way_to_record_them(self):
        code, text, _ = self.check("cobre::comm::stays(int)\ncobre::comm::uses_it()\n")
        self.assertEqual(code, 1)
        self.assertIn("- cobre::comm::stays(int)", text)
        self.assertIn("+ cobre::comm::stays(char const*)", text)
        self.assertIn("check-abi --update", text)


if __name__ == "__main__":
    unittest.main()
