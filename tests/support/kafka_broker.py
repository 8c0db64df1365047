"""Runs one Kafka broker in KRaft mode on loopback, on ports that the kernel chooses, in a folder of its own.

TICKSTACK_KAFKA_JARS names a folder with Kafka's jars (tests/e2e/run_kafka_test.sh fetches them).
"""

import os
import pathlib
import signal
import socket
import subprocess

from tests.support.stack import wait_until

CLUSTER = "tickstackAAAAAAAAAAAAA"  # 22 characters of base 64: 16 bytes.
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
offsets.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


def jars():
    """Returns the folder with Kafka's jars, or None."""
    folder = os.environ.get("TICKSTACK_KAFKA_JARS")
    return pathlib.Path(folder) if folder else None


def free_ports(number):
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class Broker:
    def __init__(self, folder, heap="512m", more_properties=""):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, controller = free_ports(2)
        self.address = f"127.0.0.1:{self.port}"
        self.properties = self.folder / "server.properties"
        self.properties.write_text(
            PROPERTIES.format(port=self.port, controller=controller, folder=self.folder) + more_properties,
            encoding="utf-8")
        self.java = ["java", f"-Xmx{heap}", f"-Xms{heap}", "-XX:+UseSerialGC", "-cp", f"{jars()}/*"]
        self.log = self.folder / "broker.log"
        self.process = None
        formatted = subprocess.run(
            [*self.java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self.properties)],
            capture_output=True, text=True, check=False)
        if formatted.returncode != 0:
            raise AssertionError(f"the broker's storage was not formatted: {formatted.stdout}{formatted.stderr}")

    def start(self, seconds=60.0):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.java, "kafka.Kafka", str(self.properties)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self.answers, seconds, "an answer of the broker")
        return self

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the broker ended: {self.log.read_text(encoding='utf-8')[-4000:]}")
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def kill(self):
        """Kills the broker with kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def destroy(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def tool(self, name, *arguments):
        """Runs a program of Kafka and returns what it printed."""
        return subprocess.run([*self.java, name, *arguments], capture_output=True, text=True, check=True,
                              timeout=120).stdout
