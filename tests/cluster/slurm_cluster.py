"""A real Slurm of two nodes on this machine, for the length of a test.

MUNGE, a controller and two node daemons are started from a folder of their own, on ports of their own, and ended again.
Each node daemon has a host name of its own (a UTS namespace), a folder of its own for the files of PMIx and MUNGE where
programs look for it (a mount namespace), so that its tasks see what tasks of two machines see. Needs root: namespaces do.
"""
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NODES = ("n1", "n2")
PATIENCE = 20  # seconds for the cluster to come up
PORTS_OF_STEPS = 50

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket.2
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
MpiDefault=none
MpiParams=ports={step_ports}
SrunPortRange={srun_ports}
ReturnToService=2
SchedulerParameters=bf_interval=1,sched_interval=1
KillWait=2
InactiveLimit=0
NodeName=n1 NodeHostname=n1 NodeAddr=127.0.0.1 Port={n1_port} CPUs=4 RealMemory={memory} State=UNKNOWN
NodeName=n2 NodeHostname=n2 NodeAddr=127.0.0.1 Port={n2_port} CPUs=4 RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES State=UP MaxTime=INFINITE OverSubscribe=FORCE:4
SlurmdParameters=config_overrides
"""


def free_ports(count):
    """The first of so many in a row. Not any that the kernel offers: those it gives to every client of this machine, also
    between two steps of a job; and below those that steps without a port of their own choose."""
    while True:
        first = random.randrange(10000, 20000 - count)
        try:
            for port in range(first, first + count):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue


class Cluster:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="slurm-")
        os.chmod(self.folder, 0o755)
        self.daemons = []
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("SLURM", "COBRE_", "OMPI_", "PMI"))}
        self.environment["SLURM_CONF"] = f"{self.folder}/slurm.conf"

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        daemons = free_ports(3 + 2 * PORTS_OF_STEPS)
        steps = daemons + 3
        sruns = steps + PORTS_OF_STEPS
        with open(f"{self.folder}/slurm.conf", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(host=socket.gethostname(), folder=self.folder, controller_port=daemons,
                                            n1_port=daemons + 1, n2_port=daemons + 2, memory=2000,
                                            step_ports=f"{steps}-{steps + PORTS_OF_STEPS - 1}",
                                            srun_ports=f"{sruns}-{sruns + PORTS_OF_STEPS - 1}"))
        with open(f"{self.folder}/munge.key", "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(f"{self.folder}/munge.key", 0o600)
        os.mkdir(f"{self.folder}/state")
        for node in NODES:
            os.mkdir(f"{self.folder}/spool-{node}")
            os.mkdir(f"{self.folder}/tmp-{node}")
        os.mkdir(f"{self.folder}/tmp")
        os.mkdir(f"{self.folder}/munge")
        with open("/etc/hosts", encoding="utf-8") as known, open(f"{self.folder}/hosts", "w", encoding="utf-8") as file:
            file.write("".join(f"127.0.0.1 {node}\n" for node in NODES) + known.read())
        with open(f"{self.folder}/mpi.conf", "w", encoding="utf-8") as file:
            file.write(f"PMIxCliTmpDirBase={self.folder}/tmp\n")
        place = self.folder
        self.daemon("munged", "--foreground", "--force", f"--key-file={place}/munge.key",
                    f"--socket={place}/munge/munge.socket.2", f"--pid-file={place}/munged.pid",
                    f"--log-file={place}/munged.log", f"--seed-file={place}/munge.seed")
        self.wait_until(lambda: os.path.exists(f"{place}/munge/munge.socket.2"), "munged did not open its socket")
        self.daemon("slurmctld", "-D", "-i")
        for node in NODES:
            self.daemon("unshare", "--uts", "--mount", "sh", "-c", f"hostname {node} && "
                        f"mount --bind {place}/tmp-{node} {place}/tmp && mount --bind {place}/hosts /etc/hosts && "
                        # Where programs look for MUNGE. All of /run is theirs, so that nothing is made in that of the machine.
                        "mount -t tmpfs tmpfs /run && mkdir /run/munge && "
                        f"mount --bind {place}/munge /run/munge && "
                        f"exec slurmd -D -N {node}")
        self.wait_until(self.is_up, "the nodes did not come up")

    def daemon(self, *command):
        with open(f"{self.folder}/{command[0]}-{len(self.daemons)}.out", "wb") as log:
            self.daemons.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                                 stderr=log, start_new_session=True))

    def is_up(self):
        for daemon in self.daemons:
            if daemon.poll() is not None:
                raise RuntimeError(f"{daemon.args} ended with {daemon.returncode}:\n{self.logs()}")
        states = self.call("sinfo", "-h", "-N", "-o", "%T").stdout.split()
        return states == ["idle"] * len(NODES)

    def wait_until(self, condition, failure):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{failure}:\n{self.logs()}")
            time.sleep(0.05)

    def call(self, *command, seconds=30, **environment):
        return subprocess.run([str(word) for word in command], env=self.environment | environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:
                    text += f"--- {name}\n{file.read()[-2000:]}\n"
        return text

    def processes(self):
        """All that have to do with this cluster: daemons, those that they started for a step, and the tasks."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environment, open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read()
                    if self.folder.encode() in environment.read() + command:
                        found[int(pid)] = command.replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue  # it has ended meanwhile
        return found

    def end_what_is_left(self):
        """A step outlives the daemon that it was started by, and ends when it has told the controller so, or cannot."""
        end = time.monotonic() + 2
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while self.processes() and time.monotonic() < end + 2:
            time.sleep(0.01)

    def __exit__(self, *_):
        # The daemons last started first: nodes before their controller, and what they run with them.
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.terminate()
        end = time.monotonic() + 3
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(max(0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()
        self.end_what_is_left()
        shutil.rmtree(self.folder, ignore_errors=True)
