"""A headless Chromium, driven over the pipe of its DevTools protocol: no port, no further package."""
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

LIMIT = 60  # seconds, for an answer


class Browser:
    """One page. `complaints` holds what the page wrote to its console, and what it threw; `requests`
    what it asked for since it was opened."""

    def __init__(self, profile):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        assert program, "no chromium: see tools/dev/packages.txt"
        # It reads from 3 and writes to 4. Copies above 9, so that none of the ends stands there already.
        (listens, self.to), (self.come, speaks) = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (listens, speaks)]
        os.close(listens)
        os.close(speaks)
        words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", *words],
                                        pass_fds=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in theirs:
            os.close(end)
        self.unread, self.last, self.session, self.complaints, self.requests, self.loaded = b"", 0, None, [], [], False
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility", "Network"):
            self.ask(f"{domain}.enable")

    def close(self):
        """Asks it to end, so that all of its processes do."""
        self.session = None
        self.ask("Browser.close")
        self.process.wait(LIMIT)
        os.close(self.to)
        os.close(self.come)

    def ask(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.last:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def open(self, address):
        self.loaded, self.requests = False, []
        self.ask("Page.navigate", url=address)
        while not self.loaded:
            self._next()

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer)
        return answer["result"].get("value")

    def press(self, key, code=0, text=""):
        named = {"key": key, "code": key if len(key) > 1 else "Space", "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **named)

    def accessible(self):
        """What a screen reader is given, in its order: role, name, and the properties of each that is not ignored."""
        nodes = self.ask("Accessibility.getFullAXTree")["nodes"]
        by_id = {node["nodeId"]: node for node in nodes}
        found = []

        def walk(node):
            if not node.get("ignored"):
                properties = {one["name"]: one["value"].get("value") for one in node.get("properties", [])}
                found.append((node["role"]["value"], node.get("name", {}).get("value", ""), properties | {"value": node.get("value", {}).get("value")}))
            for child in node.get("childIds", []):
                if child in by_id:
                    walk(by_id[child])

        walk(nodes[0])
        return found

    def _next(self):
        end = time.monotonic() + LIMIT
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.come], [], [], max(0, end - time.monotonic()))
            part = os.read(self.come, 1 << 20) if ready else b""
            assert part, "the browser does not answer"
            self.unread += part
        message, self.unread = self.unread.split(b"\0", 1)
        message = json.loads(message)
        kind = message.get("method")
        self.loaded |= kind == "Page.loadEventFired"
        if kind == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        if kind in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(message["params"])
        return message
