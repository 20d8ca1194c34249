"""What a browser, and who cannot see it or has no mouse, makes of the page of cobre-comm bench."""
import base64
import json
import os
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from browser import Browser  # noqa: E402
from support import CommandTest, run  # noqa: E402

FOLDER = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], f"page-{os.getpid()}")
PAGE, RUN, BARS = (os.path.join(FOLDER, name) for name in ("page.html", "page.json", "bars.json"))
WHO = ["shm", "tcp-sockets", "openmpi"]  # in the order of the page
PAPER = {"paperWidth": 8.27, "paperHeight": 11.69}  # A4, inches
BETWEEN_MARGINS = 718  # pixels of its width


class Page(CommandTest):
    @classmethod
    def setUpClass(cls):
        os.makedirs(FOLDER, exist_ok=True)
        cls.addClassCleanup(shutil.rmtree, FOLDER, ignore_errors=True)
        with open(BARS, "w", encoding="utf-8") as out:  # so that it is known what falls short
            json.dump({"bars": [{"backend": name, "op": op, "against": ["openmpi"], "ratios": {"any": bar}}
                                for op in ("barrier", "allreduce") for name, bar in (("shm", 1e6), ("tcp-sockets", 1e-6))]}, out)
        job = run("bench", "--effort", "0.005", "--rounds", "1", "--ops", "barrier,allreduce", "--sizes", "8,1K,64K", "--ranks", 2,
                  "--backends", "shm,tcp-sockets", "--peers", "openmpi", "--bars", BARS, "--json", RUN, "--html", PAGE)
        assert job.returncode == 0, job.stderr
        with open(RUN, encoding="utf-8") as text:
            cls.records = json.load(text)["records"]
        cls.browser = Browser(os.path.join(FOLDER, "profile"))
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.ask("Emulation.setEmulatedMedia", media="")
        self.window(900, 1200)
        self.browser.open("file://" + PAGE)

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.browser.complaints, [])

    def window(self, width, height, phone=False):
        self.browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def of_all(self, selector, expression):
        return self.browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => {expression})")

    def laid_out(self, selector, expression, expected):
        """Pictures follow the width of the page one frame later."""
        self.wait_until(lambda: expected(self.of_all(selector, expression)), f"{selector}: {self.of_all(selector, expression)}")

    def of_role(self, role):
        return [(name, properties) for found, name, properties in self.browser.accessible() if found == role]

    def test_it_loads_nothing_and_shows_what_the_json_holds(self):
        self.browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.assertEqual([one for one in self.browser.requests if not one.startswith("data:")], ["file://" + PAGE])
        self.assertEqual(self.of_all("[data-median]", "({...e.dataset})"),
                         [{"op": r["op"], "ranks": str(r["ranks"]), "bytes": str(r["bytes"]), "backend": r["backend"],
                           "median": self.browser.evaluate(f"String({r['median_us']!r})")} for r in self.records])
        self.assertEqual(len(self.of_all("canvas", "1")), 2, "time and bandwidth of allreduce; a barrier has no curve")

    def test_what_falls_short_is_marked_in_the_list_the_tables_and_the_pictures(self):
        lost = [r for r in self.records if r["loses"]]
        self.assertEqual({r["backend"] for r in lost}, {"shm"})
        self.assertEqual(self.of_all("#lost h2", "e.textContent"), [f"Marked: {len(lost)} of 8 cells"])
        self.assertEqual(len(self.of_all("#lost li", "1")), len(lost))
        self.assertEqual(self.of_all("tr.lost td:last-child", "e.textContent"), ["below its bar of 1000000"] * len(lost))
        red = """(() => {  // of a copy: a canvas that is read is drawn otherwise from then on
            const copy = new OffscreenCanvas(e.width, e.height).getContext("2d", { willReadFrequently: true });
            copy.drawImage(e, 0, 0);
            return copy.getImageData(0, 0, e.width, e.height).data
              .filter((_, i, all) => i % 4 === 0 && all[i] === 0xb3 && all[i + 1] === 0x26 && all[i + 2] === 0x1e).length;
          })()"""
        before = self.of_all("canvas", red)
        self.assertTrue(all(pixels > 20 for pixels in before), f"rings of {before} pixels")
        self.browser.evaluate("document.querySelector('.keys button').click()")  # shm, which alone is marked
        self.laid_out("canvas", red, lambda pixels: pixels == [0, 0])

    def test_peers_are_thin_lines(self):
        noted = self.browser.ask("Page.addScriptToEvaluateOnNewDocument", source="""
            window.strokes = {};
            const stroke = CanvasRenderingContext2D.prototype.stroke;
            CanvasRenderingContext2D.prototype.stroke = function (...path) {
              if (path.length) strokes[this.strokeStyle] = Math.max(strokes[this.strokeStyle] ?? 0, this.lineWidth);
              return stroke.apply(this, path);
            };""")
        self.addCleanup(self.browser.ask, "Page.removeScriptToEvaluateOnNewDocument", identifier=noted["identifier"])
        self.browser.open("file://" + PAGE)
        colours = self.of_all(".keys path", "e.getAttribute('stroke')")
        widths = [3, 3, 1]  # of ours, and of the peer
        self.assertEqual(self.of_all(".keys path", "Number(e.getAttribute('stroke-width'))"), widths)
        self.wait_until(lambda: [self.browser.evaluate("strokes").get(colour) for colour in colours] == widths,
                        f"{colours}: {self.browser.evaluate('strokes')}")

    def test_a_screen_reader_is_told_of_every_picture_line_and_cell(self):
        self.assertEqual([(name, p["level"]) for name, p in self.of_role("heading")],
                         [("cobre-comm beside its peers", 1), ("Marked: 4 of 8 cells", 2), ("barrier, 2 ranks", 2), ("allreduce, 2 ranks", 2)])
        tables = self.of_role("table")
        self.assertEqual([name for name, _ in tables], ["barrier, 2 ranks: microseconds", "allreduce, 2 ranks: microseconds"])
        self.assertEqual(len(self.of_role("rowheader")), len(self.records))
        self.assertEqual([name for name, _ in self.of_role("columnheader")][:3], ["bytes", "who", "median"])
        self.assertEqual([(name, p["pressed"]) for name, p in self.of_role("button")], [(name, "true") for name in WHO])
        pictures = self.of_role("slider")
        for (name, properties), what in zip(pictures, ("Time", "Bandwidth"), strict=True):
            self.assertRegex(name, rf"^{what} of allreduce, 2 ranks, 8 B to 64 KiB, in \S+: shm from [\d.]+ to [\d.]+; tcp-sockets from ")
            self.assertEqual((properties["valuemin"], properties["valuemax"], properties["roledescription"]), (1, 3, "chart"))
            self.assertIn("details", properties, "the table that holds the same")
        for said in self.of_all("[role=slider]", "e.getAttribute('aria-valuetext')"):  # which the tree of Chromium leaves empty
            self.assertRegex(said, r"^8 B: .*\bshm [\d.]+ \(marked\)")
        self.assertEqual(self.of_all("[role=slider]", "document.getElementById(e.getAttribute('aria-details')).querySelectorAll('tbody tr').length"),
                         [9, 9])
        unnamed = [role for role, name, p in self.browser.accessible() if p.get("focusable") and not name]
        self.assertEqual(unnamed, [], "what can be reached has a name")

    def test_it_can_be_used_with_the_keyboard_alone(self):
        def focused():
            return self.browser.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")

        def after(key):
            self.browser.press(key)
            return self.browser.evaluate("document.activeElement.getAttribute('aria-valuetext')").split(":")[0]

        reached = []
        while not reached or reached[-1] != "Table of allreduce, 2 ranks":
            self.browser.press("Tab", 9)
            reached.append(focused())
            self.assertLess(len(reached), 30, reached)
            outline = self.browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            self.assertNotEqual(outline, "none", f"nobody sees that {reached[-1]} is reached")
            if reached[-1] == "openmpi":
                self.browser.press(" ", 32, " ")
            if reached[-1].startswith("Time of"):
                self.assertEqual([after(key) for key in ("ArrowRight", "ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home", "ArrowLeft")],
                                 ["8 B", "1 KiB", "64 KiB", "64 KiB", "1 KiB", "8 B", "8 B"])
                self.assertRegex(self.of_all(".reading", "e.textContent")[0], "^8 B: ", "and it can be seen")
        marked = ["barrier, 2 ranks, 0 B"] + [f"allreduce, 2 ranks, {size}" for size in ("8 B", "1 KiB", "64 KiB")]
        self.assertEqual([name.split(" of ")[0] if " from " in name else name for name in reached],
                         [*marked, "Table of barrier, 2 ranks", *WHO, "Time", "Bandwidth", "Table of allreduce, 2 ranks"])
        self.assertEqual([p["pressed"] for _, p in self.of_role("button")], ["true", "true", "false"])

    def test_it_fits_a_phone(self):
        self.window(390, 844, phone=True)
        self.laid_out("canvas", "e.clientWidth", lambda widths: all(300 < width <= 390 for width in widths))
        self.assertEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 390, "it has to be moved sideways")
        small = self.of_all("p:not(:empty), li, td, th, button", "parseFloat(getComputedStyle(e).fontSize)")
        self.assertGreaterEqual(min(small), 12, "pixels of the smallest letters")
        self.assertGreaterEqual(min(self.of_all("button", "e.clientHeight")), 24, "pixels that a finger has to find")
        self.assertGreater(len(base64.b64decode(self.browser.ask("Page.captureScreenshot")["data"])), 10000, "it is blank")

    def test_it_fits_on_paper(self):
        self.browser.ask("Emulation.setEmulatedMedia", media="print")
        self.window(BETWEEN_MARGINS, 1000)
        self.laid_out("canvas", "e.clientWidth", lambda widths: all(200 < width <= BETWEEN_MARGINS for width in widths))
        cut = self.of_all("body, .wide, figure", "e.scrollWidth - e.clientWidth")
        self.assertEqual(set(cut), {0}, "nobody can scroll paper")
        self.assertEqual(set(self.of_all(".reading", "getComputedStyle(e).display")), {"none"})
        printed = base64.b64decode(self.browser.ask("Page.printToPDF", **PAPER)["data"])
        self.assertIn(len(re.findall(rb"/Type /Page\b", printed)), (1, 2), "pages, for what is one and a half")
        self.assertEqual(len(re.findall(rb"/Subtype /Image\b[^>]*/SMask", printed)), 2, "the pictures are on it")


if __name__ == "__main__":
    unittest.main()
