"""Fails if a library asks the system for sockets, shared memory or MPI.

usage: check_needs_nothing.py NM LIBRARY [--must-find]
"""

import re
import subprocess
import sys

FORBIDDEN = re.compile(
    r"MPI_\w+|socket(pair)?|bind|listen|accept4?|connect|(send|recv)(to|from|m?msg)?|getaddrinfo|epoll_\w+"
    r"|shm_open|memfd_create|process_vm_\w+|HMAC\w*|EVP_\w+|munge_\w+")


def undefined(nm, library):
    text = subprocess.run([nm, "--undefined-only", "--format=just-symbols", library],
                          check=True, capture_output=True, text=True).stdout
    return {line.split("@")[0] for line in text.split()}


def main():
    nm, library = sys.argv[1:3]
    symbols = undefined(nm, library)
    found = sorted(symbol for symbol in symbols if FORBIDDEN.fullmatch(symbol))
    if "--must-find" in sys.argv:
        sys.exit(0 if found else f"found nothing in {library}, which needs some: the check is blind")
    if len(symbols) < 50:
        sys.exit(f"only {len(symbols)} symbols in {library}: the check would prove nothing")
    if found:
        sys.exit("a build of local alone needs " + ", ".join(found))
    print(f"{len(symbols)} symbols are asked for, none of sockets, shared memory or MPI")


main()
