"""An SSH server for one user, on loopback: ssh_server.py FOLDER. Writes host key, user key and a configuration for the
client to the folder, prints "ready", and serves until its standard input ends."""
import asyncio
import os
import sys

import asyncssh

FOLDER = sys.argv[1]


async def serve(process):
    """Runs what the client asks for in a shell, as sshd does; when the client goes, its standard input ends."""
    child = await asyncio.create_subprocess_shell(process.command, stdin=asyncio.subprocess.PIPE,
                                                  stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd="/")
    await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
    code = await child.wait()
    await process.stdout.drain()
    process.exit(code if code >= 0 else 128 - code)


async def main():
    host_key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    key_file = os.path.join(FOLDER, "user_key")
    with open(key_file, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
        out.write(user_key.export_private_key())
    server = await asyncssh.listen("127.0.0.1", 0, server_host_keys=[host_key], encoding=None, process_factory=serve,
                                   authorized_client_keys=asyncssh.import_authorized_keys(
                                       user_key.export_public_key().decode()))
    with open(os.path.join(FOLDER, "ssh_config"), "w", encoding="utf-8") as out:
        out.write(f"Host *\n  HostName 127.0.0.1\n  Port {server.sockets[0].getsockname()[1]}\n  User tester\n  IdentityFile \"{key_file}\"\n"
                  "  IdentitiesOnly yes\n  BatchMode yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n"
                  "  LogLevel ERROR\n")
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
