"""check-abi: what is gone, what is new, and what is nobody's business."""
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools/dev/check-abi"
SOURCE = """
#include <functional>
#define COBRE_COMM_COMPILE_EXECUTE(Class, qualifier) template void Class::execute(const long&) qualifier
namespace cobre::comm {
int stays(const char* text) { return text[0]; }
namespace core { int private_to_the_library() { return 1; } }
namespace { int nobody_sees_this() { return 2; } }
template <class T> std::function<T()> hands_out_a_lambda(T value) { return [value] { return value; }; }
int uses_it() { return hands_out_a_lambda(nobody_sees_this())() + core::private_to_the_library(); }
struct Backend {
  template <class Call> void execute(const Call&) const;
  template <class Call> __attribute__((noinline)) void of_every_program(const Call&) const {}
};
template <class Call> void Backend::execute(const Call& call) const { of_every_program(call); }
template void Backend::execute(const int&) const;
struct Named {
  template <class Call> void execute(const Call&) const;
};
template <class Call> void Named::execute(const Call&) const {}
COBRE_COMM_COMPILE_EXECUTE(Named, const);
namespace shm {
struct RegionBlock { void fence(); };
void RegionBlock::fence() {}
struct Endpoint { void private_too(); template <class Call> void execute(const Call&); };
void Endpoint::private_too() {}
template <class Call> void Endpoint::execute(const Call&) {}
template void Endpoint::execute(const int&);
}
}
int not_ours() { return 3; }
"""
FUNCTIONS = "cobre::comm::stays(char const*)\ncobre::comm::uses_it()\n"
MEMBERS = "cobre::comm::shm::RegionBlock::fence()\n"
INSTANTIATED = "void cobre::comm::Backend::execute<int>(int const&) const\n"
BY_MACRO = "void cobre::comm::Named::execute<long>(long const&) const\n"
RECORD = MEMBERS + FUNCTIONS + INSTANTIATED + BY_MACRO


class CheckAbi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.library = Path(cls.folder.name, "library.o")
        source = Path(cls.folder.name, "library.cpp")
        source.write_text(SOURCE, encoding="utf-8")
        subprocess.run(["g++", "-c", str(source), "-o", str(cls.library)], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, recorded, *options):
        record = Path(self.folder.name, "record.txt")
        record.write_text(recorded, encoding="utf-8")
        command = [str(TOOL), *options, "--sources", self.folder.name, f"{self.library}={record}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, record.read_text(encoding="utf-8")

    def test_the_record_of_a_library_is_what_programs_may_ask_for(self):
        code, _, record = self.check("", "--update")
        self.assertEqual((code, record), (0, RECORD))

    def test_a_library_that_is_as_recorded_passes(self):
        self.assertEqual(self.check(RECORD)[0], 0)

    def test_what_is_gone_and_what_is_new_are_named_with_the_way_to_record_them(self):
        code, text, _ = self.check(RECORD.replace("char const*", "int"))
        self.assertEqual(code, 1)
        self.assertIn("- cobre::comm::stays(int)", text)
        self.assertIn("+ cobre::comm::stays(char const*)", text)
        self.assertIn("check-abi --update", text)

    def test_an_instantiation_for_programs_that_is_gone_is_missed(self):
        code, text, _ = self.check(RECORD.replace("<int>(int const&)", "<long>(long const&)"))
        self.assertEqual(code, 1)
        self.assertIn("- void cobre::comm::Backend::execute<long>(long const&) const", text)

    def test_those_that_a_macro_names_are_missed_as_well(self):
        code, text, _ = self.check(RECORD.replace(BY_MACRO, BY_MACRO.replace("long", "short")))
        self.assertEqual(code, 1)
        self.assertIn("- void cobre::comm::Named::execute<short>(short const&) const", text)


if __name__ == "__main__":
    unittest.main()
