"""What a program draws on a terminal of 24 lines and 100 columns."""
import fcntl
import os
import pty
import struct
import termios


def drawn_on_terminal(start):
    """Calls start(terminal), which starts a process there; returns that and all that it drew until it closed its end."""
    outside, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = start(inside)
    os.close(inside)
    drawn = b""
    try:
        while part := os.read(outside, 4096):
            drawn += part
    except OSError:
        pass  # the other end is closed
    os.close(outside)
    return process, drawn
