"""The console, the JSON and the page say the same; a browser draws the page."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

from program import TINY, Program, check  # noqa: E402
from terminal import drawn_on_terminal  # noqa: E402

program = Program()
page, data = program.file("page.html"), program.file("result.json")
backend, ranks = list(program.configurations(ranks=(2,)))[-1]
job = program.run(backend, ranks, *TINY, "--html", page, "--json", data)
check(job.returncode == 0, job.stderr)
check(f"backend   {backend}" in job.stdout and "Convergence" in job.stdout, f"the console says {job.stdout}")
lines = re.findall(r"^iteration (\d+)/6: lower", job.stdout, re.MULTILINE)
check(lines == list("123456"), f"a line an iteration in a pipe: {job.stdout}")
check("\r" not in job.stdout, "nothing redraws itself in a pipe")

result = json.loads(pathlib.Path(data).read_text(encoding="utf-8"))
check(result["iterations"] == 6 and len(result["trace"]) == 6 and len(result["times"]) == ranks, f"the JSON: {result}")
stages = int(TINY[TINY.index("--stages") + 1])
check(result["exchanges"] == 6 * (stages + 3), f"T + 3 exchanges an iteration: {result['exchanges']}")
check(result["lower_bound"] == result["trace"][-1]["lower"], "the last bound is the bound")
for times in result["times"]:
    parts = sum(times[part] for part in ("solve", "communicate", "wait", "rest"))
    check(abs(parts - times["total"]) < 1e-9 and times["solve"] > 0, f"the parts of the time: {times}")
average = sum(times["solve"] for times in result["times"]) / ranks
for times in result["times"]:
    check(abs(times["imbalance"] - times["solve"] / average) < 1e-9, f"what a rank solved, over the average: {times}")
# A line a rank: its number, five times, its imbalance.
split = re.findall(r"^ +(\d+) +(?:-?[\d.]+s +){5}([\d.]+)$", job.stdout, re.MULTILINE)
expected = [(str(rank), f"{times['imbalance']:.3f}") for rank, times in enumerate(result["times"])]
check(split == expected, f"the console shows {split}, the JSON has {expected}")
share = f"communication {100 * result['communication_share']:.3f} % of the time"
check(share in job.stdout, f"{share!r} is not on the console: {job.stdout}")

# On a terminal there is a bar.
shown, drawn = drawn_on_terminal(
    lambda terminal: subprocess.Popen([program.arguments.program, *TINY], stdout=terminal, env=program.environment("local")))
check(shown.wait(60) == 0, "the program ends well on a terminal")
check(b"\r[####" in drawn and b"6/6  lower" in drawn, f"the terminal shows {drawn}")

# The page fetches nothing, and a browser finds in it what the JSON holds.
text = pathlib.Path(page).read_text(encoding="utf-8")
check("http" not in text and "<script" not in text, "the page stands alone")
browser = shutil.which("chromium") or shutil.which("chromium-browser")
check(browser, "no chromium: see tools/dev/packages.txt")
command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={program.file('profile')}",
           "--window-size=900,900"]
picture = program.file("page.png")
seen = subprocess.run([*command, "--dump-dom", f"file://{page}"], capture_output=True, text=True, timeout=90)
check(seen.stdout.count("<polyline") == 2, f"two lines are drawn: {seen.stdout}\n{seen.stderr}")
check(seen.stdout.count('class="solve"') == ranks, "one bar a rank")
drawn = re.findall(r"<tr><th>(\d+)</th>(?:<td>-?[\d.]+ s</td>){5}<td>([\d.]+)</td></tr>", seen.stdout)
check(drawn == expected, f"the page shows {drawn}, the JSON has {expected}")
check(f"{result['lower_bound']:.2f}" in seen.stdout, "the bound is on the page")
subprocess.run([*command, f"--screenshot={picture}", f"file://{page}"], capture_output=True, timeout=90, check=True)
check(pathlib.Path(picture).stat().st_size > 10000, "the picture is not blank")
print("console, JSON, terminal and page agree")
