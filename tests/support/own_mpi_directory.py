"""Importing this gives Open MPI, where this process starts it, a directory of its own.

Otherwise all jobs of a user share one, and each removes it at its end if no other is there: a job that starts at that
moment fails, once in some thousand starts, with "A call to mkdir was unable to create the desired directory" and "File exists".
"""
import atexit
import os
import shutil
import tempfile

DIRECTORY = tempfile.mkdtemp(prefix="ompi.")
os.environ["OMPI_MCA_orte_tmpdir_base"] = DIRECTORY
atexit.register(shutil.rmtree, DIRECTORY, ignore_errors=True)
