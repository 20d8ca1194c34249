"""check-same-bits: one bit that differs between the two MPI libraries is found, and said where."""
import struct
import unittest

from sandbox import Sandbox

CASES = ("plain", "selected", "few")


def result(iterations=3, lower=1.0, cut=2.0):
    """As a checkpoint has it: head, iterations, cuts and states."""
    trace = b"".join(struct.pack("=dddQQ", lower, 5.0, 0.5, 7, 9) for _ in range(iterations))
    return struct.pack("=8sQQQ", b"SDDPcut1", 1, iterations, hash((lower, cut)) & 0xFFFF) + trace + struct.pack("=dd", cut, cut)


class SameBits(Sandbox):
    def setUp(self):
        super().setUp()
        for case in CASES:
            for configuration in ("openmpi", "mpich"):
                self.leave(configuration, case, result())

    def leave(self, configuration, case, data):
        file = self.root / "build" / configuration / "tests/sddp/results" / case
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def outcome(self):
        done = self.run_tool("check-same-bits")
        return done.returncode, done.stdout

    def test_the_same_bits_pass(self):
        self.assertEqual(self.outcome(), (0, "3 cases, the same bits with openmpi and mpich\n"))

    def test_other_bits_are_found_in_every_case_and_part(self):
        for case in CASES:
            for data, words in ((result(lower=1.0000000000000002), "the bounds of iteration 1, byte 32 "),
                                (result(cut=2.0000000000000004), "the cuts or states, byte 152 "),
                                (result(iterations=4), "3 and 4 iterations")):
                self.leave("mpich", case, data)
                code, said = self.outcome()
                self.assertEqual(code, 1)
                self.assertIn(f"case {case}: openmpi and mpich give other bits: {words}", said)
                self.assertEqual(len(said.splitlines()), 1)
            self.leave("mpich", case, result())

    def test_a_result_that_is_missing_is_no_success(self):
        for configuration in ("openmpi", "mpich"):
            self.leave(configuration, "few", b"").unlink()
            code, said = self.outcome()
            self.assertEqual(code, 1)
            self.assertIn(f"build/{configuration}/tests/sddp/results/few: missing", said)
            self.leave(configuration, "few", result())

    def test_a_result_that_was_cut_off_is_found(self):
        for length in (0, 31, 32, 160):
            self.leave("openmpi", "plain", result()[:length])
            self.assertEqual(self.outcome()[0], 1)


if __name__ == "__main__":
    unittest.main()
