#!/usr/bin/env python3
"""Runs tests on real DAX mounts and on a NUMA node without CPUs, in virtual machines. README.md says how.

    tests/dax/run.py [--only ext4,xfs,node] [--cache DIR] DAX_TEST TICKSTACK

Exit code: 0 all passed, 1 a test failed, 2 a guest could not be made or gave no verdict.
"""

import argparse
import dataclasses
import pathlib
import signal
import sys
import time

import guest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Three guests must fit into the three minutes of `make test-dax`, each with some reserve for a busy machine.
GUEST_TIMEOUT_S = 120
RAM_MIB = 640


@dataclasses.dataclass
class Guest:
    """One virtual machine. `name` also gives its set-up script: NAME.sh, run by init.sh."""
    name: str
    what: str
    modules: list
    tools: list
    ram_mib: int = RAM_MIB
    region_mib: int = 0  # A range of RAM that the kernel treats as persistent memory.
    nvdimm_mib: int = 0
    nvdimm_node: int = 0

    def command_line(self):
        words = [f"dax_guest={self.name}"]
        if self.region_mib:
            words.append(f"memmap={self.region_mib}M!{self.ram_mib}M")
        return " ".join(words)

    def machine(self):
        if self.region_mib:
            # The firmware's tables are at the end of RAM, after the region.
            return ["-machine", "q35", "-m", f"{self.ram_mib + self.region_mib + 32}M"]
        arguments = ["-machine", "q35,nvdimm=on",
                     "-m", f"{self.ram_mib}M,slots=2,maxmem={self.ram_mib + self.nvdimm_mib + 1024}M",
                     "-object", f"memory-backend-ram,id=nvdimm,share=on,size={self.nvdimm_mib}M",
                     "-device", f"nvdimm,id=nvdimm0,memdev=nvdimm,node={self.nvdimm_node}",
                     "-object", f"memory-backend-ram,id=ram,size={self.ram_mib}M",
                     "-numa", "node,nodeid=0,cpus=0-1,memdev=ram"]
        if self.nvdimm_node:
            arguments += ["-numa", f"node,nodeid={self.nvdimm_node}",
                          "-numa", f"dist,src=0,dst={self.nvdimm_node},val=20"]
        return arguments


GUESTS = [
    Guest("ext4", "fsdax, ext4 on a memmap= region", region_mib=512,
          modules=["nd_e820", "nd_pmem", "ext4", "crc32c_generic"], tools=["mke2fs"]),
    # 1 GiB: a stripe unit of 2 MiB, which gives extents of whole huge pages, needs allocation groups of that size.
    Guest("xfs", "fsdax, xfs on an emulated NVDIMM", nvdimm_mib=1040,
          modules=["nfit", "nd_pmem", "xfs", "crc32c_generic"], tools=["ndctl", "mkfs.xfs"]),
    Guest("node", "an emulated NVDIMM as NUMA node 1 without CPUs", nvdimm_mib=1024, nvdimm_node=1,
          modules=["nfit", "device_dax", "dax_pmem", "kmem"], tools=["ndctl", "daxctl"]),
]


def make_image(machine, kernel, arguments):
    image = guest.Image()
    for folder in ("dev", "proc", "sys", "tmp", "mnt/dax"):
        image.add_folder(folder)
    image.add_busybox()
    image.add("init", (HERE / "init.sh").read_bytes(), 0o755)
    for script in sorted(HERE.glob("*.sh")):
        image.add(f"dax/{script.name}", script.read_bytes(), 0o755)
    modules = kernel.module_files(machine.modules)
    for module in modules:
        image.add(f"modules/{module.name}", module.read_bytes())
    image.add("modules/order", "".join(f"{module.name}\n" for module in modules).encode())
    for tool in machine.tools:
        image.add_program(guest.find_tool(tool), f"sbin/{tool}")
    image.add_program(arguments.dax_test, "dax/dax_test")
    image.add_program(arguments.tickstack, "dax/tickstack")
    return image


def run(machine, kernel, arguments):
    began = time.monotonic()
    print(f"== {machine.name}: {machine.what}", flush=True)
    image = make_image(machine, kernel, arguments)
    verdict = guest.boot(kernel, image, machine.machine(), machine.command_line(), f"{machine.name:4} | ",
                         GUEST_TIMEOUT_S)
    print(f"== {machine.name}: {verdict} in {time.monotonic() - began:.1f} s", flush=True)
    return verdict == "passed"


def main():
    parser = argparse.ArgumentParser(description="Tests on DAX mounts and a far NUMA node, in virtual machines.")
    parser.add_argument("dax_test", type=pathlib.Path, help="the test program")
    parser.add_argument("tickstack", type=pathlib.Path, help="the tickstack program")
    parser.add_argument("--only", default="", help="guests to run, such as ext4,node")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/dax", help="where the kernel is kept")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else [machine.name for machine in GUESTS]
    if unknown := set(wanted) - {machine.name for machine in GUESTS}:
        parser.error(f"no guest {', '.join(sorted(unknown))}; there are {', '.join(m.name for m in GUESTS)}")
    # When it is ended from outside, no QEMU and no temporary folder is left.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    try:
        kernel = guest.fetch_kernel(arguments.cache)
        passed = [run(machine, kernel, arguments) for machine in GUESTS if machine.name in wanted]
    except guest.GuestError as error:
        print(f"test-dax: {error}", file=sys.stderr)
        return 2
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
