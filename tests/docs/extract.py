"""Takes the programs out of the documentation.

usage: extract.py <output folder> <page> …

Each ```cpp block is a whole program. A ```text block right after it is what the program prints. Writes <page>_<n>.cpp and
<page>_<n>.txt, leaves files alone that are the same already, and prints the names.
"""
import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```cpp\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def write(file, text):
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for page in map(Path, sys.argv[2:]):
    for number, (program, output) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), start=1):
        name = f"{page.stem.lower().replace('-', '_')}_{number}"
        write(folder / f"{name}.cpp", program)
        write(folder / f"{name}.txt", output)
        print(name)
