"""Runs Kafka brokers in KRaft mode on loopback, on ports that the kernel chooses, in a folder of their own: one, or a
cluster in which every broker has a copy of everything.

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
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/logs
offsets.topic.replication.factor={copies}
default.replication.factor={copies}
min.insync.replicas={copies_to_write}
transaction.state.log.replication.factor={copies}
transaction.state.log.min.isr={copies_to_write}
transaction.state.log.num.partitions=4
offsets.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""
# A broker that does not answer loses its partitions after 3 s instead of 30 s.
IMPATIENT = """
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
replica.lag.time.max.ms=3000
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
    """One node, which is a broker and a controller. `quorum` has the ports of all nodes, each (broker, controller).
    By default, Java compiles little, so that a broker starts faster; it is slower afterwards."""

    def __init__(self, folder, heap="512m", more_properties="", node=1, quorum=None,
                 java_flags=("-XX:TieredStopAtLevel=1",)):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        quorum = quorum or [free_ports(2)]
        self.port, controller = quorum[node - 1]
        self.address = f"127.0.0.1:{self.port}"
        self.properties = self.folder / "server.properties"
        voters = ",".join(f"{number}@127.0.0.1:{ports[1]}" for number, ports in enumerate(quorum, 1))
        self.properties.write_text(
            PROPERTIES.format(node=node, voters=voters, port=self.port, controller=controller, folder=self.folder,
                              copies=len(quorum), copies_to_write=len(quorum) // 2 + 1) + more_properties,
            encoding="utf-8")
        self.java = ["java", *java_flags, f"-Xmx{heap}", f"-Xms{heap}", "-XX:+UseSerialGC", "-cp", f"{jars()}/*"]
        self.log = self.folder / "broker.log"
        self.process = None
        formatted = subprocess.run(
            [*self.java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self.properties)],
            capture_output=True, text=True, check=False)
        if formatted.returncode != 0:
            raise AssertionError(f"the broker's storage was not formatted: {formatted.stdout}{formatted.stderr}")

    def start(self, seconds=120.0):
        self.launch()
        wait_until(self.answers, seconds, "an answer of the broker")
        return self

    def launch(self):
        """Starts the broker and does not wait for it."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.java, "kafka.Kafka", str(self.properties)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

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


class Cluster:
    """Nodes that elect a leader. Everything is copied to all of them, and written once a majority has it."""

    def __init__(self, folder, nodes=3, heap="256m"):
        ports = free_ports(2 * nodes)
        quorum = list(zip(ports[::2], ports[1::2]))
        self.brokers = [Broker(pathlib.Path(folder) / str(node), heap, IMPATIENT, node, quorum)
                        for node in range(1, nodes + 1)]
        self.address = ",".join(broker.address for broker in self.brokers)

    def start(self):
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            wait_until(broker.answers, 120, "an answer of a broker")
        return self

    def destroy(self):
        for broker in self.brokers:
            broker.destroy()

    def tool(self, name, *arguments):
        return self.brokers[0].tool(name, *arguments)
