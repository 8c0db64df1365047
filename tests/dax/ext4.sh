# Sourced by init.sh. Sets up a range of RAM that the kernel treats as persistent memory, with ext4.

set_up() {
  wait_for /dev/pmem0
  # Only if extents begin at multiples of 2 MiB can one page fault map 2 MiB.
  show /sbin/mke2fs -q -t ext4 -b 4096 -m 0 -E stride=512,stripe_width=512,lazy_itable_init=1,nodiscard /dev/pmem0 ||
    give_up "mke2fs"
  mount -t ext4 -o dax=always,noatime /dev/pmem0 /mnt/dax || give_up "mount -o dax=always"
  show grep /mnt/dax /proc/mounts
}

run_tests() {
  . /dax/on_mount.sh
}
