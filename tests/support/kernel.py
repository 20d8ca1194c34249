"""What the kernel can do that a test depends on."""
import os


def keeps_endings():
    """Whether it tells how a process ended that another one has waited for (6.15). Before, who is not the parent may come too
    late to know."""
    return tuple(int(number) for number in os.uname().release.split(".")[:2]) >= (6, 15)
